//go:build !linux

package main

// maxrssUnit is the unit of ru_maxrss in bytes.
const maxrssUnit = 1

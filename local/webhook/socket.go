package webhook

import (
	"errors"
	"net"
	"os"
	"syscall"
)

// socket is a TCP socket that has a port of 127.0.0.1 and does not listen yet: connections are
// refused, and nobody else can get the port.
type socket struct {
	port int
	file *os.File
}

// reserve returns a socket with a free port.
func reserve() (*socket, error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		return nil, err
	}
	syscall.CloseOnExec(fd)
	s := &socket{file: os.NewFile(uintptr(fd), "webhook")}
	err = syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	address, err := syscall.Getsockname(fd)
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	s.port = address.(*syscall.SockaddrInet4).Port
	return s, nil
}

// listen returns a listener on the port.
func (s *socket) listen() (net.Listener, error) {
	if err := syscall.Listen(int(s.file.Fd()), syscall.SOMAXCONN); err != nil {
		return nil, err
	}
	return net.FileListener(s.file)
}

func (s *socket) close() error { return s.file.Close() }

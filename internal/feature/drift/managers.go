package drift

import "github.com/muster-deploy/muster/internal/managers"

// Class is what a field manager stands for.
type Class = managers.Class

// The classes.
const (
	Human      = managers.Human
	Controller = managers.Controller
	Deployer   = managers.Deployer
	Own        = managers.Own
	Unknown    = managers.Unknown
)

// Classes are the classes of field managers.
type Classes = managers.Classes

// builtinClasses returns the classes that come with the program.
func builtinClasses() *Classes { return managers.Builtin() }

// ParseClasses reads classes in the form of the built-in table, which they precede.
func ParseClasses(text []byte) (*Classes, error) { return managers.Parse(text) }

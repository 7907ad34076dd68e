package template

// A ServiceError is an error with the text that the service answers. References and macros
// return it for what a template asks for and does not exist.
type ServiceError string

func (e ServiceError) Error() string { return string(e) }

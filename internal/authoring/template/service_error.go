package template

// A ServiceError is an error with the text of the service. References and macros return it if
// the template requires something that does not exist.
type ServiceError string

func (e ServiceError) Error() string { return string(e) }

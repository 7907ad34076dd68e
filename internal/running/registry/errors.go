package registry

import (
	"errors"
	"net/http"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// The codes of the registry's refusals.
const (
	codeRegistry              = "CFNRegistryException"
	codeTypeNotFound          = "TypeNotFoundException"
	codeConfigurationNotFound = "TypeConfigurationNotFoundException"
)

// refuse is the registry's ordinary refusal.
func refuse(format string, args ...any) *awswire.Error {
	return awswire.Errorf(codeRegistry, http.StatusBadRequest, format, args...)
}

// typeNotFound is the error for an unknown name. what is the name or the ARN.
func typeNotFound(what string) *awswire.Error {
	return awswire.Errorf(codeTypeNotFound, http.StatusNotFound, "The type '%s' cannot be found.", what)
}

// versionNotFound refuses a version that the type does not have.
func versionNotFound(kind schema.Kind, typeName, version string) *awswire.Error {
	return awswire.Errorf(codeTypeNotFound, http.StatusNotFound, "Version '%s' of the %s type '%s' cannot be found.", version, kind, typeName)
}

// registryError is a refusal as operations have it whose only error is
// CFNRegistryException.
func registryError(err error) error {
	var refused *awswire.Error
	if errors.As(err, &refused) && refused.Code == codeTypeNotFound {
		return refuse("%s", refused.Message)
	}
	return err
}

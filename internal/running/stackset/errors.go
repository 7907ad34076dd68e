package stackset

import (
	"net/http"

	"github.com/formwork-dev/formwork/internal/services/awswire"
)

func invalid(format string, args ...any) error {
	return awswire.Errorf("ValidationError", http.StatusBadRequest, format, args...)
}

func noSet(name string) error {
	return awswire.Errorf("StackSetNotFoundException", http.StatusNotFound, "StackSet %s not found", name)
}

func noInstance(s *setRow, account, region string) error {
	return awswire.Errorf("StackInstanceNotFoundException", http.StatusNotFound, "Stack instance for account %s and region %s not found in StackSet %s", account, region, s.id())
}

func noOperation(s *setRow, id string) error {
	return awswire.Errorf("OperationNotFoundException", http.StatusNotFound, "Operation %s not found in StackSet %s", id, s.id())
}

func refusedOperation(format string, args ...any) error {
	return awswire.Errorf("InvalidOperationException", http.StatusBadRequest, format, args...)
}

// The reasons of results.
const (
	reasonExceeded = "Cancelled since failure tolerance has exceeded"
	reasonStopped  = "Cancelled since the operation was stopped"
	reasonRole     = "Account %s should have '%s' role with trust relationship to Role '%s'."
)

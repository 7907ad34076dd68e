package schema

import "github.com/formwork-dev/formwork/internal/diag"

func (s *Schema) check() diag.List { return nil }

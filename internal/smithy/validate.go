package smithy

func Validate(m *Model) Events { return nil }

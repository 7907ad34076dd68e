package store

import (
	"database/sql/driver"
	"fmt"
	"time"
)

// A Time is a point in time as rows keep it: a BIGINT of microseconds since 1970 in UTC.
// The zero Time is kept as NULL.
type Time struct{ time.Time }

// At is t, cut to the microsecond, in UTC: what a row returns equals what it was given.
func At(t time.Time) Time {
	if t.IsZero() {
		return Time{}
	}
	return Time{time.UnixMicro(t.UnixMicro()).UTC()}
}

// Value is for the database.
func (t Time) Value() (driver.Value, error) {
	if t.IsZero() {
		return nil, nil
	}
	return t.UnixMicro(), nil
}

// Scan is for the database. It takes integers and NULL.
func (t *Time) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*t = Time{}
	case int64:
		*t = Time{time.UnixMicro(v).UTC()}
	default:
		return fmt.Errorf("a time must be an integer but is %T", src)
	}
	return nil
}

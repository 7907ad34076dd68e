// Package events has the part of EventBridge that custom resources need: rules on a schedule whose
// targets are functions. crhelper polls with one. Rules are on the default event bus; patterns, cron
// expressions and other targets are refused.
package events

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/formwork-dev/formwork/internal/foundation/lazyregexp"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/lambda"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// Config sets up a Service. Store and Functions must be set.
type Config struct {
	Store     *store.Store
	Functions lambda.Functions

	// TimeScale divides the intervals of rules. Zero means 1.
	TimeScale float64

	Logger *slog.Logger     // nil discards
	Now    func() time.Time // nil means the store's clock
}

// A Service is EventBridge for all accounts and regions.
type Service struct {
	config Config
}

// New returns the service in a store.
func New(config Config) *Service {
	if config.TimeScale == 0 {
		config.TimeScale = 1
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	if config.Now == nil {
		config.Now = func() time.Time { return config.Store.Now().Time }
	}
	return &Service{config: config}
}

// A ruleRow is a rule with its targets.
type ruleRow struct {
	store.Row `db:"event_rules"`

	Account     string     `db:"account,pk"`
	Region      string     `db:"region,pk"`
	Name        string     `db:"name,pk"`
	AccessKey   string     `db:"access_key"` // of the caller who made it
	Schedule    string     `db:"schedule"`
	State       string     `db:"state"`
	Description string     `db:"description"`
	Targets     string     `db:"targets" seal:"event_rules.targets"` // []target: the events may have secrets
	NextAt      store.Time `db:"next_at"`                            // zero while it waits for nothing
}

// A target is a function that a rule invokes.
type target struct {
	ID    string `json:"Id"`
	ARN   string `json:"Arn"`
	Input string `json:",omitempty"`
}

func (r *ruleRow) place() awswire.Place { return awswire.Place{Account: r.Account, Region: r.Region} }

func (r *ruleRow) targets() (out []target, err error) {
	if err = json.Unmarshal([]byte(r.Targets), &out); err != nil {
		err = fmt.Errorf("read the targets of a rule: %w", err)
	}
	return out, err
}

// runs reports whether the rule has something to invoke.
func (r *ruleRow) runs() bool { return r.State == enabled && r.Targets != noTargets }

const (
	enabled   = "ENABLED"
	disabled  = "DISABLED"
	noTargets = "[]"

	// firstRun is how soon a rule invokes its targets for the first time. On AWS that is within the first interval.
	firstRun = 2 * time.Second
)

func ruleARN(place awswire.Place, name string) string {
	return fmt.Sprintf("arn:%s:events:%s:%s:rule/%s", awswire.PartitionOf(place.Region), place.Region, place.Account, name)
}

var rate = lazyregexp.New(`^rate\(([1-9][0-9]{0,4}) (minutes?|hours?|days?)\)$`)

// interval reads a schedule: "rate(1 minute)", "rate(2 hours)".
func interval(schedule string) (time.Duration, bool) {
	match := rate.FindStringSubmatch(schedule)
	if match == nil {
		return 0, false
	}
	n, err := strconv.Atoi(match[1])
	unit, plural := strings.CutSuffix(match[2], "s")
	if err != nil || plural == (n == 1) {
		return 0, false
	}
	return time.Duration(n) * map[string]time.Duration{"minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour}[unit], true
}

// wakeKind is the kind of wake-up of rules; the id is the ARN of the rule.
const wakeKind = "eventrule"

// Workers are those of the wake-ups of rules.
func (s *Service) Workers() map[string]store.Worker {
	return map[string]store.Worker{wakeKind: {Run: s.run, Fail: s.giveUp}}
}

// giveUp turns off a rule that can never run.
func (s *Service) giveUp(ctx context.Context, arn, reason string) error {
	place, name := placed(arn)
	s.config.Logger.ErrorContext(ctx, "a rule is turned off", "rule", name, "error", reason)
	return s.config.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		_, err := store.Exec(ctx, tx, "UPDATE event_rules SET state = ? WHERE account = ? AND region = ? AND name = ?", disabled, place.Account, place.Region, name)
		return err
	})
}

// placed reads the ARN of a rule.
func placed(arn string) (awswire.Place, string) {
	parts := strings.SplitN(arn, ":", 6) // of ruleARN
	return awswire.Place{Account: parts[4], Region: parts[3]}, strings.TrimPrefix(parts[5], "rule/")
}

// run invokes the targets of a rule that is due.
func (s *Service) run(ctx context.Context, arn string) (time.Time, error) {
	place, name := placed(arn)
	row, err := s.find(ctx, s.config.Store.Read(), place, name)
	if err != nil || row == nil || !row.runs() {
		return time.Time{}, err
	}
	now := s.config.Now()
	if next := row.NextAt.Time; now.Before(next) {
		return next, nil
	}
	every, ok := interval(row.Schedule)
	if !ok {
		return time.Time{}, nil
	}
	// The next time is written first: of a run that the end of the process cuts off, there is no second one.
	row.NextAt = store.At(now.Add(s.scaled(every)))
	err = s.config.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		return store.Update(ctx, tx, row, "next_at")
	})
	if errors.Is(err, store.ErrStale) {
		return time.Time{}, nil // it was deleted
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("note the next run of a rule: %w", err)
	}
	targets, err := row.targets()
	if err != nil {
		return time.Time{}, err
	}
	caller := awswire.Caller{Place: place, AccessKeyID: row.AccessKey}
	for _, t := range targets {
		event, err := row.event(t, now)
		if err != nil {
			return time.Time{}, err
		}
		if _, err := s.config.Functions.Call(ctx, caller, t.ARN, event, nil); err != nil && ctx.Err() == nil {
			s.config.Logger.WarnContext(ctx, "a function that is the target of a rule failed", "rule", row.Name, "function", t.ARN)
		}
	}
	return row.NextAt.Time, ctx.Err()
}

func (s *Service) scaled(d time.Duration) time.Duration {
	return time.Duration(float64(d) / s.config.TimeScale)
}

// event is what a target gets: its input, or the scheduled event of EventBridge.
func (r *ruleRow) event(t target, now time.Time) ([]byte, error) {
	if t.Input != "" {
		return []byte(t.Input), nil
	}
	event, err := json.Marshal(map[string]any{
		"version": "0", "id": uuid.NewString(), "detail-type": "Scheduled Event", "source": "aws.events", "account": r.Account,
		"time": now.UTC().Format("2006-01-02T15:04:05Z"), "region": r.Region, "resources": []string{ruleARN(r.place(), r.Name)}, "detail": map[string]any{},
	})
	if err != nil {
		return nil, fmt.Errorf("make the event of a rule: %w", err)
	}
	return event, nil
}

// find returns a rule, nil if it does not exist.
func (s *Service) find(ctx context.Context, db store.DB, place awswire.Place, name string) (*ruleRow, error) {
	var rows []ruleRow
	err := store.List(ctx, db, &rows, "WHERE account = ? AND region = ? AND name = ?", place.Account, place.Region, name)
	if err != nil {
		return nil, fmt.Errorf("read a rule: %w", err)
	}
	if len(rows) == 0 {
		return nil, nil
	}
	return &rows[0], nil
}

// change writes a rule anew, and wakes it if it has something to invoke.
func (s *Service) change(ctx context.Context, place awswire.Place, name string, do func(row *ruleRow) error) error {
	return s.config.Store.Change(ctx, func(ctx context.Context, tx *store.Tx) error {
		row, err := s.find(ctx, tx, place, name)
		if err != nil {
			return err
		}
		if row == nil {
			return noRule(name)
		}
		before := row.runs()
		if err := do(row); err != nil {
			return err
		}
		if !before && row.runs() {
			row.NextAt = store.At(s.config.Now().Add(s.scaled(firstRun)))
		}
		if err := store.Update(ctx, tx, row); err != nil {
			return fmt.Errorf("write a rule: %w", err)
		}
		if !row.runs() {
			return tx.CancelWake(ctx, wakeKind, ruleARN(place, name))
		}
		return tx.Wake(ctx, wakeKind, ruleARN(place, name), row.NextAt.Time)
	})
}

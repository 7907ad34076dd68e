//go:build unix

package handlers_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/handlers"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// TestListInvocations reads what is kept in every way in which it can be asked for.
func TestListInvocations(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	at := func(seconds int) store.Time { return store.At(start.Add(time.Duration(seconds) * time.Second)) }
	row := func(id, typeName, version, action, status string, seconds int) handlers.Invocation {
		return handlers.Invocation{
			ID: id, Account: account, Region: region, Kind: schema.Resource, TypeName: typeName, Version: version, Action: action, Status: status,
			Request: "{}", Reply: `{"status": "` + status + `"}`, Micros: 1500, StartedAt: at(seconds),
		}
	}
	failed := row("e", "Acme::Test::Thing", "00000002", "CREATE", "FAILED", 3)
	failed.Reply = `{"resourceModel": {"message": "inner"}, "status": "FAILED", "errorCode": "NotFound", "message": "it is gone", "more": "` + strings.Repeat("x", 70_000)
	broken := row("f", "Acme::Test::Thing", "00000002", "CREATE", "ERROR", 4)
	broken.Reply, broken.Error = "", "the handler ended"
	hook := row("g", "Acme::Test::Hook", "00000001", "CREATE_PRE_PROVISION", "SUCCESS", 5)
	hook.Kind = schema.Hook
	elsewhere := row("h", "Acme::Test::Thing", "00000001", "CREATE", "SUCCESS", 6)
	elsewhere.Region = "eu-west-3"
	odd := row("i", "Odd::100%_!::Name", "00000001", "READ", "FAILED", 7)
	odd.Reply = "no JSON at all"
	failed.Token, failed.StackID, failed.LogicalID = "t-1", "arn:stack/s", "A"
	broken.Token, broken.StackID, broken.LogicalID = "t-1", "arn:stack/s", "B"
	rows := []handlers.Invocation{
		row("a", "Acme::Test::Thing", "00000001", "CREATE", "SUCCESS", 1), row("b", "Acme::Test::Thing", "00000001", "READ", "SUCCESS", 2),
		row("c", "Acme::Test::Thing", "00000001", "READ", "SUCCESS", 2), row("d", "Acme::Test::Thing", "00000002", "READ", "SUCCESS", 2),
		failed, broken, hook, elsewhere, odd,
	}
	for _, place := range fixtures.Stores(t) {
		t.Run(place.Name, func(t *testing.T) {
			b := benchAt(t, store.Config{Dir: place.Dir, DSN: place.DSN}, nil)
			err := b.store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
				return store.Insert(ctx, tx, store.Pointers(rows)...)
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, test := range []struct {
				query handlers.InvocationQuery
				want  string
			}{
				{handlers.InvocationQuery{Limit: 100}, "igfedcba"},
				{handlers.InvocationQuery{Limit: 3}, "igf"},
				{handlers.InvocationQuery{Limit: 2, BeforeTime: at(4).Time, BeforeID: "f"}, "ed"},
				{handlers.InvocationQuery{Limit: 2, BeforeTime: at(2).Time, BeforeID: "d"}, "cb"},
				{handlers.InvocationQuery{Limit: 2, BeforeTime: at(2).Time, BeforeID: "b"}, "a"},
				{handlers.InvocationQuery{Limit: 2, BeforeTime: at(2).Time, BeforeID: "not kept any more"}, "dc"},
				{handlers.InvocationQuery{Limit: 2, BeforeTime: at(1).Time, BeforeID: "a"}, ""},
				{handlers.InvocationQuery{Limit: 100, Kind: schema.Hook}, "g"},
				{handlers.InvocationQuery{Limit: 100, TypeName: "Acme::Test::Thing", Kind: schema.Resource}, "fedcba"},
				{handlers.InvocationQuery{Limit: 100, TypeName: "Acme::Test::Thing", Version: "00000002", Action: "READ"}, "d"},
				{handlers.InvocationQuery{Limit: 100, Failed: true}, "ife"},
				{handlers.InvocationQuery{Limit: 100, Token: "t-1"}, "fe"},
				{handlers.InvocationQuery{Limit: 100, StackID: "arn:stack/s", LogicalID: "A"}, "e"},
				{handlers.InvocationQuery{Limit: 100, Failed: true, Search: "tHING"}, "fe"},
				{handlers.InvocationQuery{Limit: 100, Search: "100%_!"}, "i"},
				{handlers.InvocationQuery{Limit: 100, Search: "%"}, "i"},
				{handlers.InvocationQuery{Limit: 100, Search: "_"}, "i"},
				{handlers.InvocationQuery{Limit: 100, Search: "' OR 1=1 --"}, ""},
			} {
				got := ""
				for _, i := range b.invocations(t, test.query) {
					got += i.ID
				}
				if got != test.want {
					t.Errorf("%+v: %s, want %s", test.query, got, test.want)
				}
			}
			test := handlers.InvocationQuery{Place: awswire.Place{Account: account, Region: region}, Limit: 100}
			list, err := b.Invocations(t.Context(), test)
			if err != nil {
				t.Fatal(err)
			}
			said := map[string]string{}
			for _, i := range list {
				said[i.ID] = fmt.Sprint(i.ErrorCode, ": ", i.Message, i.Error)
				if i.Duration != 1500*time.Microsecond {
					t.Errorf("%s took %s", i.ID, i.Duration)
				}
			}
			for id, want := range map[string]string{"a": ": ", "e": "NotFound: it is gone", "f": ": the handler ended", "i": ": "} {
				if said[id] != want {
					t.Errorf("%s says %q, want %q", id, said[id], want)
				}
			}
			for _, other := range []struct{ account, region, id string }{{account, region, "h"}, {"999999999999", region, "a"}, {account, region, "x"}} {
				if i, err := b.Invocation(t.Context(), awswire.Place{Account: other.account, Region: other.region}, other.id); i != nil || err != nil {
					t.Errorf("%v: %v %v", other, i, err)
				}
			}
		})
	}
}

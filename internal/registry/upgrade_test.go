package registry

import (
	"database/sql"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/formwork-dev/formwork/internal/fixtures"
)

// TestUpgradeFromRiver opens a database that the program before decision 0014 left behind
// at work: its tables of River go, and the registrations that were under way end.
func TestUpgradeFromRiver(t *testing.T) {
	for _, place := range fixtures.Stores(t) {
		t.Run(place.Name, func(t *testing.T) {
			dump, err := os.ReadFile(filepath.Join("testdata", "river_"+place.Name+".sql"))
			if err != nil {
				t.Fatal(err)
			}
			tokens := map[string]string{} // by the name of the type
			for _, row := range regexp.MustCompile(`INSERT INTO \S*registrations\S* VALUES ?\('([0-9a-f-]+)'.*?'(?:MODULE|RESOURCE)', ?'([^']+)'`).FindAllStringSubmatch(string(dump), -1) {
				tokens[row[2]] = row[1]
			}
			if len(tokens) != 2 {
				t.Fatalf("the registrations of the dump are %v", tokens)
			}
			load(t, place, string(dump))

			g := newRig(t, place)
			g.packages.put("s3://b/done", extension(t, "localstack-testing-testmodule-module"))
			query := "SELECT count(*) FROM sqlite_master WHERE name LIKE 'river%'"
			if place.DSN != "" {
				query = "SELECT (SELECT count(*) FROM pg_class WHERE relname LIKE 'river%') + (SELECT count(*) FROM pg_type WHERE typname LIKE 'river%') + (SELECT count(*) FROM pg_proc WHERE proname LIKE 'river%')"
			}
			var left int
			if err := g.store.Read().NewRaw(query).Scan(t.Context(), &left); err != nil || left != 0 {
				t.Errorf("%d tables, indexes, types and functions of River are left, %v", left, err)
			}
			g.work()
			for name, want := range map[string]types.RegistrationStatus{
				"LocalStack::Testing::TestModule::MODULE": types.RegistrationStatusComplete, "Acme::Upgrade::Missing": types.RegistrationStatusFailed,
			} {
				if out := g.wait(owner, tokens[name]); out.ProgressStatus != want {
					t.Errorf("the registration of %s is %s (%s), want %s", name, out.ProgressStatus, *out.Description, want)
				}
			}
			var waiting []string
			if err := g.store.Read().NewRaw("SELECT kind FROM wakeups WHERE kind = 'nobody'").Scan(t.Context(), &waiting); err != nil || len(waiting) != 1 {
				t.Errorf("the wake-up without a worker is %v, %v", waiting, err)
			}
		})
	}
}

// load runs the statements of a dump on an empty database.
func load(t *testing.T, place fixtures.Place, dump string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(place.Dir, "formwork.db"))
	if place.DSN != "" {
		var config *pgx.ConnConfig
		if config, err = pgx.ParseConfig(place.DSN); err == nil {
			config.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
			db = stdlib.OpenDB(*config)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), dump); err != nil {
		t.Fatal(err)
	}
}

package registry

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
	"github.com/formwork-dev/formwork/internal/foundation/store"
	"github.com/formwork-dev/formwork/internal/running/operation"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// TestManyActivations publishes for more activations than one transaction updates, some of
// which do not want that.
func TestManyActivations(t *testing.T) {
	t.Parallel()
	eachShop(t, func(t *testing.T, s *shop) {
		s.publisher(owner)
		public := s.offer(owner, thingName, "one", "")
		const accounts = updateBatch + 30
		for i := range accounts {
			caller := awswire.Caller{Place: awswire.Place{Account: fmt.Sprintf("%012d", i+1), Region: owner.Region}}
			for _, alias := range []string{"Auto::Store::Thing", "Hand::Store::Thing"} {
				s.activate(caller, &cloudformation.ActivateTypeInput{PublicTypeArn: &public, TypeNameAlias: &alias, AutoUpdate: aws.Bool(alias == "Auto::Store::Thing")})
			}
		}
		s.offer(owner, thingName, "two", "1.0.1")
		s.offer(owner, thingName, "three", "2.0.0")
		s.until("the workers rest", s.idle)
		var counts []struct {
			AutoUpdate bool  `db:"auto_update"`
			Patch      int64 `db:"patch"`
			Major      int64 `db:"major"`
			N          int64 `db:"n"`
		}
		err := store.Query(t.Context(), s.store.Read(), &counts, "SELECT a.auto_update, p.patch, p.major, COUNT(*) AS n FROM activations AS a JOIN publications AS p ON p.id = a.publication_id GROUP BY a.auto_update, p.patch, p.major")
		if err != nil {
			t.Fatal(err)
		}
		if len(counts) != 2 {
			t.Fatalf("activations are at %+v", counts)
		}
		for _, c := range counts {
			if c.N != accounts || c.Major != 1 || (c.Patch == 1) != c.AutoUpdate {
				t.Errorf("%d activations with AutoUpdate %t are at %d.0.%d", c.N, c.AutoUpdate, c.Major, c.Patch)
			}
		}
		// AutoUpdate catches up when it is wanted again.
		caller := awswire.Caller{Place: awswire.Place{Account: "000000000001", Region: owner.Region}}
		arn := s.activate(caller, &cloudformation.ActivateTypeInput{PublicTypeArn: &public, TypeNameAlias: aws.String("Hand::Store::Thing"), AutoUpdate: aws.Bool(true)})
		if out := s.describe(caller, arn); *out.PublicVersionNumber != "1.0.1" {
			t.Errorf("at %s", *out.PublicVersionNumber)
		}
	})
}

// TestNodes has two processes on one database test and publish: each test runs once, on
// either of them.
func TestNodes(t *testing.T) {
	t.Parallel()
	dsn, err := fixtures.Postgres(t)
	if err != nil {
		t.Skipf("skipped: PostgreSQL: %v", err)
	}
	// The rig runs no workers: whatever happens, two others do.
	s := &shop{rig: newRig(t, fixtures.Place{DSN: dsn}), buckets: &buckets{content: map[string][]byte{}}}
	s.stock()
	var nodes []*Registry
	for range 2 {
		opened, err := store.Open(t.Context(), store.Config{DSN: dsn, StopTimeout: time.Second, Poll: 50 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { opened.Close() })
		node, operations := withTests(operation.Places{}, Config{Store: opened, Fetch: s.packages.Fetch, Functions: s})
		workers := node.Workers()
		maps.Copy(workers, operations.Workers())
		if err := opened.Work(t.Context(), workers); err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, node)
	}
	s.publisher(owner)
	var versions []string
	for i := range 8 {
		name := fmt.Sprintf("Initech::Node::T%02d", i)
		token := s.request(owner, schema.Resource, name, s.things(name, "x"))
		s.until(name+" is registered", func() bool {
			out, err := nodes[i%2].DescribeTypeRegistration(t.Context(), owner, &cloudformation.DescribeTypeRegistrationInput{RegistrationToken: &token})
			return err == nil && out.ProgressStatus == types.RegistrationStatusComplete
		})
		versions = append(versions, versionARN("resource", name, 1))
	}
	for i, version := range versions {
		if _, err := nodes[i%2].TestType(t.Context(), owner, &cloudformation.TestTypeInput{Arn: &version}); err != nil {
			t.Fatal(err)
		}
	}
	for _, version := range versions {
		if out := s.verdict(owner, version); out.TypeTestsStatus != types.TypeTestsStatusPassed {
			t.Errorf("%s: %s: %s", version, out.TypeTestsStatus, aws.ToString(out.TypeTestsStatusDescription))
		}
	}
	var runs []testRunRow
	if err := store.List(t.Context(), s.store.Read(), &runs, ""); err != nil || len(runs) != len(versions) {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	for _, run := range runs {
		if run.Attempts != 1 {
			t.Errorf("%s was tested %d times", run.TypeName, run.Attempts)
		}
	}
	published := 0
	for _, node := range nodes {
		for _, err := range atOnce(3, func(ctx context.Context) error {
			_, err := node.PublishType(ctx, owner, &cloudformation.PublishTypeInput{Arn: &versions[0]})
			return err
		}) {
			if err == nil {
				published++
			}
		}
	}
	if published != 1 {
		t.Errorf("published %d times", published)
	}
}

// shelve puts types among the public types of a region, straight into its tables.
func (g *rig) shelve(types int) {
	g.t.Helper()
	rows := make([]publicationRow, types)
	for i := range rows {
		rows[i] = publicationRow{
			ID: fmt.Sprintf("p%d", i), SourceID: fmt.Sprintf("v%d", i), Region: owner.Region, Kind: "RESOURCE", PublisherID: publisherID(owner.Account), TypeName: fmt.Sprintf("Acme::Shelf::T%05d", i),
			Number: 1, Major: 1, Latest: true, Schema: "{}", ProvisioningType: "FULLY_MUTABLE", Description: "A type.",
		}
	}
	err := g.store.Write(g.t.Context(), func(ctx context.Context, tx *store.Tx) error {
		for start := 0; start < len(rows); start += 500 {
			part := rows[start:min(start+500, len(rows))]
			for i := range part {
				part[i].CreatedAt = g.now()
			}
			if err := store.Insert(ctx, tx, store.Pointers(part)...); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		g.t.Fatal(err)
	}
}

// BenchmarkListPublic lists all of 10,000 public types, page by page.
func BenchmarkListPublic(b *testing.B) {
	eachPlace(b, func(b *testing.B, g *rig) {
		if _, err := g.RegisterPublisher(b.Context(), owner, &cloudformation.RegisterPublisherInput{AcceptTermsAndConditions: aws.Bool(true)}); err != nil {
			b.Fatal(err)
		}
		g.shelve(10_000)
		for b.Loop() {
			in := &cloudformation.ListTypesInput{Visibility: types.VisibilityPublic}
			listed := 0
			for {
				out, err := g.ListTypes(b.Context(), reader, in)
				if err != nil {
					b.Fatal(err)
				}
				listed += len(out.TypeSummaries)
				if in.NextToken = out.NextToken; out.NextToken == nil {
					break
				}
			}
			if listed != 10_000 {
				b.Fatalf("listed %d", listed)
			}
		}
	})
}

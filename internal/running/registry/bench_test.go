package registry

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/foundation/fixtures"
)

// bucketSchema is a schema of the size that many have, some 60 KB.
func bucketSchema(b *testing.B) string {
	b.Helper()
	properties := map[string]any{}
	for i := range 400 {
		properties[fmt.Sprintf("Property%d", i)] = map[string]any{"type": "string", "description": fmt.Sprintf("What property %d is good for, in a sentence of ordinary length.", i)}
	}
	return jsonOf(b, map[string]any{"typeName": "Acme::Bench::Bucket", "properties": properties})
}

// eachPlace runs a benchmark on every kind of database.
func eachPlace(b *testing.B, bench func(b *testing.B, g *rig)) {
	for _, place := range fixtures.Stores(b) {
		b.Run(place.Name, func(b *testing.B) { bench(b, newRig(b, place)) })
	}
}

func BenchmarkDescribeType(b *testing.B) {
	eachPlace(b, func(b *testing.B, g *rig) {
		g.fill(owner, 1000, bucketSchema(b))
		in := &cloudformation.DescribeTypeInput{Type: "RESOURCE", TypeName: aws.String("Acme::Fill::T00500")}
		b.ReportAllocs()
		for b.Loop() {
			if _, err := g.DescribeType(b.Context(), owner, in); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkDescribeHook has the wrapper of the configuration schema made.
func BenchmarkDescribeHook(b *testing.B) {
	g := newRig(b, fixtures.Place{Dir: fixtures.TempDir(b)})
	g.work()
	g.packages.put("s3://b/h", extension(b, "localstack-testing-testhook"))
	g.register(owner, schema.Hook, "LocalStack::Testing::TestHook", "s3://b/h")
	in := &cloudformation.DescribeTypeInput{Type: "HOOK", TypeName: aws.String("LocalStack::Testing::TestHook")}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := g.DescribeType(b.Context(), owner, in); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkListTypes reads one page in the midst of 10,000 types.
func BenchmarkListTypes(b *testing.B) {
	eachPlace(b, func(b *testing.B, g *rig) {
		g.fill(owner, 10_000, bucketSchema(b)[:4<<10])
		in := &cloudformation.ListTypesInput{}
		for range 50 {
			out, err := g.ListTypes(b.Context(), owner, in)
			if err != nil {
				b.Fatal(err)
			}
			in.NextToken = out.NextToken
		}
		b.ReportAllocs()
		for b.Loop() {
			if _, err := g.ListTypes(b.Context(), owner, in); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkListAllTypes reads all pages of 10,000 types.
func BenchmarkListAllTypes(b *testing.B) {
	eachPlace(b, func(b *testing.B, g *rig) {
		g.fill(owner, 10_000, bucketSchema(b)[:4<<10])
		for b.Loop() {
			if n := len(g.list(owner, cloudformation.ListTypesInput{})); n != 8900 {
				b.Fatal(n)
			}
		}
	})
}

// BenchmarkRegisterType is until the request is acknowledged: the row is on the disk.
func BenchmarkRegisterType(b *testing.B) {
	eachPlace(b, func(b *testing.B, g *rig) {
		i := 0
		for b.Loop() {
			i++
			g.request(owner, schema.Resource, fmt.Sprintf("Acme::Bench::T%d", i/maxVersions), "s3://b/k")
		}
	})
}

// BenchmarkRegistration is until the version is there: three steps, each on the disk.
func BenchmarkRegistration(b *testing.B) {
	eachPlace(b, func(b *testing.B, g *rig) {
		g.work()
		g.packages.put("s3://b/m", modulePackage(b, "Acme::Bench::Part::MODULE"))
		i := 0
		for b.Loop() {
			i++
			caller := owner
			caller.Account = fmt.Sprintf("%012d", i)
			g.register(caller, schema.Module, "Acme::Bench::Part::MODULE", "s3://b/m")
		}
	})
}

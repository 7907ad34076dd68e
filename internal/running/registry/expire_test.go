package registry

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
)

func TestExpire(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, g *rig) {
		clock := time.Now()
		g.config.Now = func() time.Time { return clock }
		const name = "Acme::Test::Part::MODULE"
		g.packages.put("s3://b/k", modulePackage(t, name))
		in := &cloudformation.RegisterTypeInput{Type: "MODULE", TypeName: aws.String(name), SchemaHandlerPackage: aws.String("s3://b/k"), ClientRequestToken: aws.String("mine")}
		register := func() string {
			t.Helper()
			out, err := g.RegisterType(t.Context(), owner, in)
			if err != nil {
				t.Fatal(err)
			}
			return *out.RegistrationToken
		}
		known := func(token string) bool {
			_, err := g.DescribeTypeRegistration(t.Context(), owner, &cloudformation.DescribeTypeRegistrationInput{RegistrationToken: &token})
			return err == nil
		}
		expire := func() {
			t.Helper()
			if err := g.Expire(t.Context(), clock.Add(keepRegistrations-time.Hour)); err != nil {
				t.Fatal(err)
			}
		}
		running := register()
		clock = clock.Add(2 * time.Hour)
		if expire(); !known(running) {
			t.Fatal("a registration in progress is forgotten")
		}
		g.work()
		g.wait(owner, running)
		failed := g.request(owner, schema.Module, "Acme::Test::None::MODULE", "s3://b/none")
		g.wait(owner, failed)
		if expire(); !known(running) || !known(failed) || register() != running {
			t.Error("a registration that has just ended is forgotten")
		}
		clock = clock.Add(37 * time.Hour)
		if expire(); known(running) || known(failed) {
			t.Error("an old registration is not forgotten")
		}
		if v, err := g.Resolve(t.Context(), owner, schema.Module, name, ""); err != nil || v.VersionID != "00000001" {
			t.Errorf("the version is gone: %v", err)
		}
		if places, err := g.Places(t.Context()); len(places) != 1 || places[0] != owner.Place || err != nil {
			t.Errorf("places %v, %v", places, err)
		}
		again := register()
		if again == running {
			t.Error("the client token still has its old registration")
		}
		if out := g.wait(owner, again); aws.ToString(out.TypeVersionArn) != versionARN("module", name, 2) {
			t.Errorf("registered again as %s: %s", aws.ToString(out.TypeVersionArn), aws.ToString(out.Description))
		}
	})
}

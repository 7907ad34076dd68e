package awswire_test

import (
	"context"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// BenchmarkListTypes is a page of 100 types, without the network.
func BenchmarkListTypes(b *testing.B) {
	out := &cloudformation.ListTypesOutput{NextToken: aws.String("next")}
	for i := range 100 {
		out.TypeSummaries = append(out.TypeSummaries, types.TypeSummary{
			Type: types.RegistryTypeResource, TypeName: aws.String("Org::Service::Type" + strconv.Itoa(i)), DefaultVersionId: aws.String("00000001"),
			TypeArn: aws.String("arn:aws:cloudformation:eu-west-1:123456789012:type/resource/Org-Service-Type"), LastUpdated: aws.Time(time.Unix(1, 0)), Description: aws.String("A type"),
		})
	}
	table := cloudFormation(awswire.Op("ListTypes", func(context.Context, awswire.Caller, *cloudformation.ListTypesInput) (*cloudformation.ListTypesOutput, error) {
		return out, nil
	}))
	b.ReportAllocs()
	for b.Loop() {
		if w := post(table, "Action=ListTypes&Version=2010-05-15&Visibility=PRIVATE&Filters.TypeNamePrefix=Org&MaxResults=100"); w.Code != 200 {
			b.Fatal(w.Body)
		}
	}
}

// BenchmarkCreateStack is a request with a template of 50 KB and ten parameters.
func BenchmarkCreateStack(b *testing.B) {
	table := cloudFormation(keeps[cloudformation.CreateStackInput, cloudformation.CreateStackOutput]("CreateStack", new(*cloudformation.CreateStackInput)))
	table.Known = nil
	form := "Action=CreateStack&Version=2010-05-15&StackName=a&TemplateBody=" + strings.Repeat("%7B%22a%22%3A1%7D+", 5000)
	for i := range 10 {
		form += "&Parameters.member." + strconv.Itoa(i+1) + ".ParameterKey=k&Parameters.member." + strconv.Itoa(i+1) + ".ParameterValue=v"
	}
	b.ReportAllocs()
	b.SetBytes(int64(len(form)))
	for b.Loop() {
		if w := post(table, form); w.Code != 200 {
			b.Fatal(w.Body)
		}
	}
}

func BenchmarkVerify(b *testing.B) {
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	verifier := &awswire.Verifier{Keys: map[string]awswire.Key{"AKIAGOOD": {Secret: "right"}}, Now: func() time.Time { return at }}
	r := httptest.NewRequest("GET", "/?Action=ListTypes&Version=2010-05-15", nil)
	if err := v4.NewSigner().SignHTTP(b.Context(), aws.Credentials{AccessKeyID: "AKIAGOOD", SecretAccessKey: "right"}, r, emptySHA256, "cloudformation", "eu-west-1", at); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := verify(verifier, r); err != nil {
			b.Fatal(err)
		}
	}
}

package local_test

import (
	"context"
	"fmt"
	"log"
	"net/http/httptest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/formwork-dev/formwork/local"
)

// A CloudFormation for one test: it keeps nothing, and each has its own.
func Example() {
	ctx := context.Background()
	cloud, err := local.Open(ctx, local.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer cloud.Close()
	server := httptest.NewServer(cloud)
	defer server.Close()

	// The access key is the number of the account; nothing checks the secret.
	anybody := credentials.NewStaticCredentialsProvider("111111111111", "any", "")
	objects := s3.New(s3.Options{BaseEndpoint: aws.String(server.URL), Region: "us-east-1", Credentials: anybody, UsePathStyle: true})
	if _, err := objects.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: aws.String("packages")}); err != nil {
		log.Fatal(err)
	}
	client := cloudformation.New(cloudformation.Options{BaseEndpoint: aws.String(server.URL), Region: "us-east-1", Credentials: anybody})
	types, err := client.ListTypes(ctx, &cloudformation.ListTypesInput{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(types.TypeSummaries), "types")
	// Output: 0 types
}

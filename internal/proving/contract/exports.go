package contract

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// ExportsClient asks a CloudFormation for the exports of its stacks. URL, Region,
// Credentials and HTTP must be set.
type ExportsClient struct {
	URL         string
	Region      string
	Credentials aws.CredentialsProvider
	HTTP        *http.Client
	Now         func() time.Time // nil means time.Now
}

// maxExports bounds the pages and their size that are read.
const (
	maxExportPages = 1000
	maxExportPage  = 4 << 20
)

type listExports struct {
	Exports []struct {
		Name  string `xml:"Name"`
		Value string `xml:"Value"`
	} `xml:"ListExportsResult>Exports>member"`
	NextToken string `xml:"ListExportsResult>NextToken"`
}

type queryError struct {
	Code    string `xml:"Error>Code"`
	Message string `xml:"Error>Message"`
}

// List returns the values of all exports by their names, with the operation ListExports
// of the API version 2010-05-15.
func (c *ExportsClient) List(ctx context.Context) (map[string]string, error) {
	values := map[string]string{}
	for token, page := "", 0; ; page++ {
		result, err := c.page(ctx, token)
		if err != nil {
			return nil, fmt.Errorf("list the exports at %s: %w", c.URL, err)
		}
		for _, e := range result.Exports {
			values[e.Name] = e.Value
		}
		if token = result.NextToken; token == "" {
			return values, nil
		}
		if page >= maxExportPages {
			return nil, fmt.Errorf("list the exports at %s: more than %d pages", c.URL, maxExportPages)
		}
	}
}

func (c *ExportsClient) page(ctx context.Context, token string) (*listExports, error) {
	form := url.Values{"Action": {"ListExports"}, "Version": {"2010-05-15"}}
	if token != "" {
		form.Set("NextToken", token)
	}
	body := form.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	credentials, err := c.Credentials.Retrieve(ctx)
	if err != nil {
		return nil, fmt.Errorf("find credentials: %w", err)
	}
	now := time.Now()
	if c.Now != nil {
		now = c.Now()
	}
	sum := sha256.Sum256([]byte(body))
	if err := v4.NewSigner().SignHTTP(ctx, credentials, request, hex.EncodeToString(sum[:]), "cloudformation", c.Region, now); err != nil {
		return nil, fmt.Errorf("sign the request: %w", err)
	}
	response, err := c.HTTP.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(io.LimitReader(response.Body, maxExportPage))
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		var refusal queryError
		if xml.Unmarshal(data, &refusal) == nil && refusal.Code != "" {
			return nil, fmt.Errorf("%s: %s", refusal.Code, refusal.Message)
		}
		return nil, fmt.Errorf("it answered %s", response.Status)
	}
	result := &listExports{}
	if err := xml.Unmarshal(data, result); err != nil {
		return nil, errors.New("its response is not one of CloudFormation")
	}
	return result, nil
}

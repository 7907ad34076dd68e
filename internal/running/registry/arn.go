package registry

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/schema"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// privateARN is the ARN of a type that the caller's account has: registered or activated,
// whose TypeName is then the alias.
func privateARN(caller awswire.Caller, kind schema.Kind, typeName string) schema.TypeARN {
	return schema.TypeARN{Partition: caller.Partition(), Region: caller.Region, Account: caller.Account, Kind: kind, TypeName: typeName}
}

// publicARN is the ARN of a published type in the region of the caller.
func publicARN(caller awswire.Caller, kind schema.Kind, publisher, typeName string) schema.TypeARN {
	return schema.TypeARN{Partition: caller.Partition(), Region: caller.Region, Kind: kind, Publisher: publisher, TypeName: typeName}
}

// versionID is the id of a private version: 8 digits at least.
func versionID(number int64) string { return fmt.Sprintf("%08d", number) }

// versionNumber reads an id back; "1" and "00000001" are the same version.
func versionNumber(id string) (int64, bool) {
	number, err := strconv.ParseInt(id, 10, 64)
	return number, err == nil && number > 0 && !strings.HasPrefix(id, "+")
}

// parseTypeARN reads the ARN of a type or a version. Other texts are an error in the words of
// the service.
func parseTypeARN(text string) (schema.TypeARN, error) {
	arn, ok := schema.ParseTypeARN(text)
	if !ok {
		return schema.TypeARN{}, refuse("TypeName is invalid")
	}
	return arn, nil
}

// parseConfigurationARN reads the ARN of a type configuration.
func parseConfigurationARN(text string) (arn schema.TypeARN, alias string, err error) {
	arn, alias, ok := schema.ParseConfigurationARN(text)
	if !ok {
		return schema.TypeARN{}, "", refuse("TypeConfigurationArn '%s' is not the ARN of a type configuration.", text)
	}
	return arn, alias, nil
}

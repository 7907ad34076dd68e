package builtin

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/formwork-dev/formwork/internal/services/awswire"
	"github.com/formwork-dev/formwork/internal/services/functions"
)

// The types of functions and what templates have around them exist if Config.Functions is set:
// code of a template is run, which the user must allow.
var functionKinds = map[string]reader{
	functions.TypeFunction:    deployed{identify: functionID, complete: completeFunction},
	functions.TypeVersion:     deployed{identify: versionID, complete: completeVersion},
	functions.TypeAlias:       deployed{identify: aliasID, complete: completeAlias},
	functions.TypeLayer:       deployed{identify: layerID, complete: completeLayer},
	"AWS::Lambda::Permission": deployed{identify: permissionID, complete: completePermission},
	"AWS::IAM::Role":          deployed{identify: roleID, complete: completeRole, global: true},
	"AWS::IAM::Policy":        deployed{identify: policyID, complete: completePolicy, global: true},
	"AWS::IAM::ManagedPolicy": deployed{identify: managedPolicyID, complete: completeManagedPolicy, global: true},
}

// FunctionTypes are the names of the types that exist if Config.Functions is set, sorted.
func FunctionTypes() []string { return slices.Sorted(maps.Keys(functionKinds)) }

// deployed is a kind whose resources are models in Config.Functions.
type deployed struct {
	identify func(c *call) (string, error)
	// complete adds the read-only properties to the model that is stored, and returns the
	// hash of the code.
	complete func(c *call, id string, model map[string]any) (code string, err error)
	global   bool // the resources belong to no region
}

func (d deployed) place(c *call) awswire.Place { return d.placeOf(c.request.Caller.Place) }

func (d deployed) placeOf(place awswire.Place) awswire.Place {
	if d.global {
		place.Region = ""
	}
	return place
}

func (d deployed) identifier(c *call) (string, error) {
	if c.request.Identifier != "" {
		return c.request.Identifier, nil // it was announced
	}
	return d.identify(c)
}

func (d deployed) resource(c *call, id string) (functions.Resource, error) {
	model := maps.Clone(c.desired)
	if tags := c.tags(); len(tags) > 0 && c.types.types[c.request.Type].Schema.Tagging.Taggable {
		model["Tags"] = tagList(tags)
	}
	code, err := d.complete(c, id, model)
	return functions.Resource{Type: c.request.Type, ID: d.key(id), Model: model, CodeHash: code}, err
}

// key is how a resource is stored: versions and aliases by the name of the function or layer and theirs.
func (d deployed) key(id string) string {
	for _, kind := range []string{":function:", ":layer:"} {
		if _, name, ok := strings.Cut(id, kind); ok && strings.HasPrefix(id, "arn:") {
			return name
		}
	}
	return id
}

func (d deployed) create(c *call) (string, error) {
	id, err := d.identifier(c)
	if err != nil {
		return "", err
	}
	made, err := d.resource(c, id)
	if err != nil {
		return "", err
	}
	return id, c.types.config.Functions.Create(c.ctx, d.place(c), made)
}

func (d deployed) read(c *call) (map[string]any, error) {
	found, err := c.types.config.Functions.Get(c.ctx, d.place(c), c.request.Type, d.key(c.request.Identifier))
	if err != nil {
		return nil, err
	}
	delete(found.Model, functions.Snapshot)
	return found.Model, nil
}

func (d deployed) update(c *call) error {
	changed, err := d.resource(c, c.request.Identifier)
	if err != nil {
		return err
	}
	return c.types.config.Functions.Update(c.ctx, d.place(c), changed)
}

func (d deployed) remove(c *call) error {
	return c.types.config.Functions.Delete(c.ctx, d.place(c), c.request.Type, d.key(c.request.Identifier))
}

func functionID(c *call) (string, error) {
	return cmp.Or(c.text("FunctionName"), c.generated(c.stackName(64), mixedCase)), nil
}

func completeFunction(c *call, id string, model map[string]any) (string, error) {
	runtime, code := c.text("Runtime"), anyMapOf(c.desired["Code"])
	image := c.text("PackageType") == "Image"
	switch {
	case image != (code["ImageUri"] != nil):
		return "", invalid("Please provide ImageUri when and only when PackageType is Image.")
	case image && (runtime != "" || c.text("Handler") != ""):
		return "", invalid("Please don't provide Handler or Runtime when PackageType is Image.")
	case !image && (runtime == "" || c.text("Handler") == "" && !strings.HasPrefix(runtime, "provided")):
		return "", invalid("Runtime and Handler are mandatory parameters for functions created with deployment packages.")
	}
	delete(model, "Code")
	model["FunctionName"], model["Arn"] = id, functionARN(c, id)
	switch inline, key := code["ZipFile"], code["S3Key"]; {
	case image:
		return "", nil
	case inline != nil:
		packed, err := functions.Inline(runtime, fmt.Sprint(inline))
		if err != nil {
			return "", err
		}
		return c.types.config.Functions.Store(c.ctx, bytes.NewReader(packed))
	case key == nil || code["S3Bucket"] == nil:
		return "", invalid("Please provide a source for function code.")
	}
	return storeObject(c, code)
}

// storeObject stores the zip file in S3 that a property names, and returns its hash.
func storeObject(c *call, of map[string]any) (string, error) {
	version, _ := of["S3ObjectVersion"].(string)
	object, err := c.types.config.Objects(c.ctx, c.request.Caller, fmt.Sprint(of["S3Bucket"]), fmt.Sprint(of["S3Key"]), version)
	if err != nil {
		text, ok := words(err)
		if !ok {
			return "", err
		}
		return "", invalid(fmt.Sprintf("Error occurred while GetObject. %s", text))
	}
	defer func() { _ = object.Close() }() // it was only read
	return c.types.config.Functions.Store(c.ctx, object)
}

// Objects opens an object of S3 for a caller. The error is an *awswire.Error if it does not exist.
type Objects func(ctx context.Context, caller awswire.Caller, bucket, key, version string) (io.ReadCloser, error)

func anyMapOf(value any) map[string]any {
	m, _ := value.(map[string]any)
	return m
}

func functionARN(c *call, name string) string {
	caller := c.request.Caller
	return fmt.Sprintf("arn:%s:lambda:%s:%s:function:%s", awswire.PartitionOf(caller.Region), caller.Region, caller.Account, name)
}

// functionName is the name of the function that a property refers to by name or ARN.
func functionName(c *call) string {
	name := c.text("FunctionName")
	if _, after, ok := strings.Cut(name, ":function:"); ok {
		name, _, _ = strings.Cut(after, ":")
	}
	return name
}

func versionID(c *call) (string, error) {
	name := functionName(c)
	if _, err := c.types.config.Functions.Get(c.ctx, c.request.Caller.Place, functions.TypeFunction, name); err != nil {
		return "", functionMissing(c, name, err)
	}
	number, err := next(c, functions.TypeVersion, name)
	return functionARN(c, name) + ":" + number, err
}

// next is the number of the next version of a function or layer.
func next(c *call, typeName, name string) (string, error) {
	numbers, err := c.types.config.Functions.Versions(c.ctx, c.request.Caller.Place, typeName, name)
	last := 0
	for _, text := range numbers {
		if n, err := strconv.Atoi(text); err == nil {
			last = max(last, n)
		}
	}
	return strconv.Itoa(last + 1), err
}

func layerID(c *call) (string, error) {
	name := cmp.Or(c.text("LayerName"), c.generated(c.stackName(64), mixedCase))
	if _, after, ok := strings.Cut(name, ":layer:"); ok {
		name = after
	}
	number, err := next(c, functions.TypeLayer, name)
	caller := c.request.Caller
	return fmt.Sprintf("arn:%s:lambda:%s:%s:layer:%s:%s", awswire.PartitionOf(caller.Region), caller.Region, caller.Account, name, number), err
}

func completeLayer(c *call, id string, model map[string]any) (string, error) {
	model["LayerVersionArn"] = id
	model["LayerName"] = strings.Split(id, ":")[6]
	return storeObject(c, anyMapOf(c.desired["Content"]))
}

// functionMissing is the refusal for a function that does not exist, which is not the resource.
func functionMissing(c *call, name string, err error) error {
	if code(err) == "NotFound" {
		return invalid("Function not found: " + functionARN(c, name))
	}
	return err
}

func completeVersion(c *call, id string, model map[string]any) (string, error) {
	name, number := functionName(c), id[strings.LastIndex(id, ":")+1:]
	model["FunctionName"], model["FunctionArn"], model["Version"] = c.text("FunctionName"), id, number
	before, err := c.types.config.Functions.Get(c.ctx, c.request.Caller.Place, functions.TypeVersion, name+":"+number)
	if err == nil { // an update changes what is around the version
		model[functions.Snapshot] = before.Model[functions.Snapshot]
		return before.CodeHash, nil
	}
	of, err := c.types.config.Functions.Get(c.ctx, c.request.Caller.Place, functions.TypeFunction, name)
	if err != nil {
		return "", functionMissing(c, name, err)
	}
	model[functions.Snapshot] = of.Model
	return of.CodeHash, nil
}

func aliasID(c *call) (string, error) {
	return functionARN(c, functionName(c)) + ":" + c.text("Name"), nil
}

func completeAlias(c *call, id string, model map[string]any) (string, error) {
	name, version := functionName(c), c.text("FunctionVersion")
	if version != "$LATEST" {
		if _, err := c.types.config.Functions.Get(c.ctx, c.request.Caller.Place, functions.TypeVersion, name+":"+version); err != nil {
			return "", functionMissing(c, name+":"+version, err)
		}
	}
	model["AliasArn"] = id
	return "", nil
}

func permissionID(c *call) (string, error) {
	return c.text("FunctionName") + "|" + c.generated(c.stackName(maxGenerated), mixedCase), nil
}

func completePermission(_ *call, id string, model map[string]any) (string, error) {
	model["Id"] = id[strings.LastIndex(id, "|")+1:]
	return "", nil
}

func roleID(c *call) (string, error) {
	return cmp.Or(c.text("RoleName"), c.generated(c.stackName(64), mixedCase)), nil
}

// iamARN is the ARN of what belongs to an account.
func iamARN(c *call, kind, name string) string {
	path := "/" + strings.Trim(c.text("Path"), "/") + "/"
	if path == "//" {
		path = "/"
	}
	caller := c.request.Caller
	return fmt.Sprintf("arn:%s:iam::%s:%s%s%s", awswire.PartitionOf(caller.Region), caller.Account, kind, path, name)
}

func completeRole(c *call, id string, model map[string]any) (string, error) {
	arn := iamARN(c, "role", id)
	sum := sha256.Sum256([]byte(arn))
	model["RoleName"], model["Arn"] = id, arn
	model["RoleId"] = "AROA" + strings.ToUpper(hex.EncodeToString(sum[:8]))
	return "", nil
}

func policyID(c *call) (string, error) { return c.generated(c.stackName(maxGenerated), mixedCase), nil }

func completePolicy(_ *call, id string, model map[string]any) (string, error) {
	model["Id"] = id
	return "", nil
}

func managedPolicyID(c *call) (string, error) {
	return iamARN(c, "policy", cmp.Or(c.text("ManagedPolicyName"), c.generated(c.stackName(128), mixedCase))), nil
}

func completeManagedPolicy(_ *call, id string, model map[string]any) (string, error) {
	model["PolicyArn"], model["ManagedPolicyName"] = id, id[strings.LastIndex(id, "/")+1:]
	return "", nil
}

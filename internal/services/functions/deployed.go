package functions

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/formwork-dev/formwork/internal/foundation/words"
	"github.com/formwork-dev/formwork/internal/services/awswire"
)

// Deployed returns a version of a function, nil if there is none. The qualifier is a number, an
// alias, $LATEST or empty.
func (f *Functions) Deployed(ctx context.Context, place awswire.Place, name, qualifier string) (*Deployment, error) {
	found, version, err := f.version(ctx, place, name, qualifier)
	var missing *awswire.Error
	if errors.As(err, &missing) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	d := &Deployment{Version: version, CodeHash: found.CodeHash, Timeout: 3 * time.Second, MemoryMB: 128}
	text, err := json.Marshal(found.Model)
	if err != nil {
		return nil, fmt.Errorf("read a function: %w", err)
	}
	sum := sha256.Sum256(append([]byte(found.CodeHash), text...))
	d.Revision = hex.EncodeToString(sum[:])
	d.Runtime, _ = found.Model["Runtime"].(string)
	d.Handler, _ = found.Model["Handler"].(string)
	d.Role, _ = found.Model["Role"].(string)
	if d.Unrun = unrun(found.Model); d.Unrun == "" {
		if err := f.addLayers(ctx, place, d, found.Model); err != nil {
			return nil, err
		}
	}
	if seconds := number(found.Model["Timeout"]); seconds > 0 {
		d.Timeout = time.Duration(seconds) * time.Second
	}
	if size := number(found.Model["MemorySize"]); size > 0 {
		d.MemoryMB = size
	}
	if storage, ok := found.Model["EphemeralStorage"].(map[string]any); ok {
		d.TmpMB = number(storage["Size"])
	}
	if logging, ok := found.Model["LoggingConfig"].(map[string]any); ok {
		d.LogGroup, _ = logging["LogGroup"].(string)
	}
	environment, _ := found.Model["Environment"].(map[string]any)
	variables, _ := environment["Variables"].(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(variables)) {
		d.Environment = append(d.Environment, key+"="+fmt.Sprint(variables[key]))
	}
	return d, nil
}

// runtimes are the beginnings of the runtimes that run here.
var runtimes = []string{"provided", "python3.", "nodejs", "java"}

// unrun is why a function cannot run here, "" if it can.
func unrun(model map[string]any) string {
	runtime, _ := model["Runtime"].(string)
	layers, _ := model["Layers"].([]any)
	switch {
	case model["PackageType"] == "Image":
		return "it is a container image; use a zip file"
	case !slices.ContainsFunc(runtimes, func(prefix string) bool { return strings.HasPrefix(runtime, prefix) }):
		return fmt.Sprintf("it has the runtime %s; provided.*, python3.*, nodejs* and java* run here", words.Cut(runtime, 50))
	case len(layers) > 0 && strings.HasPrefix(runtime, "java"):
		return "it is in Java and has layers, which are not in the class path here; add their files to the code"
	}
	return ""
}

// addLayers adds the layers of a function to its deployment. One that does not exist in the account and region, such as a layer of
// AWS, is a reason not to run the function.
func (f *Functions) addLayers(ctx context.Context, place awswire.Place, d *Deployment, model map[string]any) error {
	layers, _ := model["Layers"].([]any)
	for _, layer := range layers {
		arn := fmt.Sprint(layer)
		id, own := strings.CutPrefix(arn, fmt.Sprintf("arn:%s:lambda:%s:%s:layer:", awswire.PartitionOf(place.Region), place.Region, place.Account))
		var missing *awswire.Error
		found, err := f.Get(ctx, place, TypeLayer, id)
		switch {
		case errors.As(err, &missing), err == nil && !own:
			d.Unrun = "its layer " + words.Cut(arn, 200) + " does not exist here; add the files of the layer to the code"
			return nil
		case err != nil:
			return err
		}
		d.Layers = append(d.Layers, found.CodeHash)
	}
	return nil
}

// version finds what a qualifier names.
func (f *Functions) version(ctx context.Context, place awswire.Place, name, qualifier string) (*Resource, string, error) {
	if qualifier == "" || qualifier == "$LATEST" {
		found, err := f.Get(ctx, place, TypeFunction, name)
		return found, "$LATEST", err
	}
	if _, err := strconv.Atoi(qualifier); err != nil {
		alias, err := f.Get(ctx, place, TypeAlias, name+":"+qualifier)
		if err != nil {
			return nil, "", err
		}
		qualifier = fmt.Sprint(alias.Model["FunctionVersion"])
		if qualifier == "$LATEST" {
			return f.version(ctx, place, name, "")
		}
	}
	version, err := f.Get(ctx, place, TypeVersion, name+":"+qualifier)
	if err != nil {
		return nil, "", err
	}
	snapshot, _ := version.Model[Snapshot].(map[string]any)
	return &Resource{Model: snapshot, CodeHash: version.CodeHash}, qualifier, nil
}

// Snapshot is the key in the model of a version for the model of the function that was
// published. It is not shown.
const Snapshot = "formwork:function"

// number is an integer of a model, 0 for anything else.
func number(value any) int {
	n, err := strconv.Atoi(fmt.Sprint(value))
	if err != nil {
		return 0
	}
	return n
}

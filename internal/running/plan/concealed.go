package plan

import (
	"slices"

	"github.com/formwork-dev/formwork/internal/authoring/template"
	"github.com/formwork-dev/formwork/internal/running/customresource"
)

// A concealed answers references as another does, but for the attributes of custom resources
// whose provider set NoEcho: they are masked.
type concealed struct {
	template.References
	resources map[string]Resource
}

// Conceal returns what answers as refs does, with masks for what is not shown of some resources.
func Conceal(refs template.References, resources map[string]Resource) template.References {
	return concealed{refs, resources}
}

// GetAtt implements [template.References].
func (c concealed) GetAtt(logicalID, attribute string) (any, bool, error) {
	value, known, err := c.References.GetAtt(logicalID, attribute)
	if err == nil && known && c.resources[logicalID].Conceals() {
		return template.Mask, true, nil
	}
	return value, known, err
}

// Conceals reports whether the attributes of a resource are not shown.
func (r Resource) Conceals() bool {
	return customresource.IsType(r.Type) && customresource.Hidden(r.Model)
}

// Concealed are the texts in the attributes of a resource that are not shown.
func (r Resource) Concealed() []string {
	if !r.Conceals() {
		return nil
	}
	return customresource.Texts(customresource.Attributes(r.Model))
}

// Conceals reports whether the properties of a resource depend on what is not shown: NoEcho
// parameters, and custom resources whose provider set NoEcho.
func (d *Deployment) Conceals(r *template.Resource, resources map[string]Resource) bool {
	return d.Scope.HasNoEcho(r) || len(d.concealing(r, resources)) > 0
}

// concealing are the custom resources with NoEcho whose attributes a resource refers to.
func (d *Deployment) concealing(r *template.Resource, resources map[string]Resource) (names []string) {
	if !d.hasCustom() { // asked of every resource of a plan and at every step
		return nil
	}
	for _, on := range d.Scope.Dependencies(r) {
		if on.Kind == template.DependsOnAttribute && resources[on.Name].Conceals() {
			names = append(names, on.Name)
		}
	}
	return names
}

// hasCustom reports whether the template has custom resources.
func (d *Deployment) hasCustom() bool {
	d.custom.once.Do(func() {
		d.custom.any = slices.ContainsFunc(d.Template.Resources, func(r *template.Resource) bool { return customresource.IsType(r.Type) })
	})
	return d.custom.any
}

// masked evaluates the properties of a resource as they are shown.
func (d *Deployment) masked(r *template.Resource, refs template.References, resources map[string]Resource) (map[string]any, error) {
	value, err := d.Scope.Masked(r, Conceal(refs, resources))
	if err != nil {
		return nil, err
	}
	out, _ := value.(map[string]any)
	return out, nil
}

// resourcesOf are the resources that references are answered for, nil if they are not known.
func resourcesOf(refs template.References) map[string]Resource {
	if known, ok := refs.(Known); ok {
		return known.Resources
	}
	return nil
}

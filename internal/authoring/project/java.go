package project

import (
	"cmp"
	"strings"

	"github.com/formwork-dev/formwork/internal/authoring/codegen"
)

// startJava has the runtime and the entry points of the official plug-in.
func startJava(p *Project) error {
	class := cmp.Or(p.namespace, codegen.JavaNamespace(p.TypeName)) + "." + codegen.JavaEntryClass(p.Kind)
	p.Runtime, p.Entrypoint, p.TestEntrypoint, p.ExecutableEntrypoint = "java17", class+"::handleRequest", class+"::testEntrypoint", class+"Executable"
	return nil
}

// javaOptions are those of the official plug-in, with its default model of code.
func javaOptions(config InitConfig) object {
	namespace := cmp.Or(config.Namespace, codegen.JavaNamespace(config.TypeName))
	return object{{"namespace", strings.Split(namespace, ".")}, {"codegen_template_path", "default"}}
}

func authoredJava(p *Project) []string {
	folder := codegen.JavaFolder(cmp.Or(strings.Join(p.Options.Get("namespace").Strings(), "."), codegen.JavaNamespace(p.TypeName)))
	names := []string{"pom.xml", "lombok.config", "src/resources/log4j2.xml", folder + "/CallbackContext.java", folder + "/Configuration.java"}
	for _, operation := range []string{"Create", "Read", "Update", "Delete", "List", "PreCreateHook", "PreUpdateHook", "PreDeleteHook"} {
		names = append(names, folder+"/"+operation+"Handler.java")
	}
	return names
}

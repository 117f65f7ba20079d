// Prints the names that the files declare, as go/parser reads them: one JSON line per file.
package main

import (
	"bufio"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
)

func baseName(expr ast.Expr) string {
	switch e := expr.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.StarExpr:
		return baseName(e.X)
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.IndexExpr:
		return baseName(e.X)
	case *ast.IndexListExpr:
		return baseName(e.X)
	case *ast.ParenExpr:
		return baseName(e.X)
	}
	return ""
}

func listNames(file *ast.File) []string {
	names := []string{}
	add := func(name string) {
		if name != "_" && name != "" {
			names = append(names, name)
		}
	}
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Recv != nil {
				add(baseName(d.Recv.List[0].Type) + "." + d.Name.Name)
			} else {
				add(d.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.ValueSpec:
					for _, name := range s.Names {
						add(name.Name)
					}
				case *ast.TypeSpec:
					add(s.Name.Name)
					if t, ok := s.Type.(*ast.StructType); ok {
						for _, field := range t.Fields.List {
							for _, name := range field.Names {
								add(s.Name.Name + "." + name.Name)
							}
							if len(field.Names) == 0 {
								add(s.Name.Name + "." + baseName(field.Type))
							}
						}
					}
					if t, ok := s.Type.(*ast.InterfaceType); ok {
						for _, method := range t.Methods.List {
							for _, name := range method.Names {
								add(s.Name.Name + "." + name.Name)
							}
						}
					}
				}
			}
		}
	}
	return names
}

func main() {
	out := json.NewEncoder(os.Stdout)
	// `go run` takes arguments that end with .go as its own.
	paths := bufio.NewScanner(os.Stdin)
	for paths.Scan() {
		path := paths.Text()
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			panic(err)
		}
		out.Encode(map[string]interface{}{"path": path, "names": listNames(file)})
	}
}

(module (import_statement name: (dotted_name) @name) @import.module)
(module (import_from_statement module_name: (_) @name) @import.module)
(class_definition body: (block (function_definition name: (_) @name) @member.method))
(class_definition body: (block (decorated_definition definition: (function_definition name: (_) @name) @member.method)))
(class_definition body: (block (expression_statement (assignment left: (identifier) @name) @member.field)))
(function_definition name: (_) @name) @item.function
(class_definition name: (_) @name) @item.class
(assignment left: (identifier) @name (#match? @name "^[A-Z_][A-Z0-9_]*$")) @item.constant
(assignment left: (identifier) @name) @item.variable

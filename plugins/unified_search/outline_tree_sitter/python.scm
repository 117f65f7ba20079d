(module (import_statement name: [(dotted_name) @name (aliased_import name: (_) @name)]) @import.module)
(module (import_from_statement module_name: (_) @name) @import.module)
(assignment left: (identifier) right: (assignment)) @skip.chain
(class_definition name: (_) @name) @item.class
(class_definition body: (block (function_definition name: (_) @name) @member.method))
(class_definition body: (block (decorated_definition definition: (function_definition name: (_) @name) @member.method)))
(function_definition name: (_) @name) @item.function
(lambda) @skip.local
(type_alias_statement left: (type [(identifier) @name (generic_type (identifier) @name)])) @item.struct
(class_definition body: (block (expression_statement (assignment left: (identifier) @name) @member.field)))
((assignment left: (identifier) @name) @item.constant (#match? @name "^[A-Z_][A-Z0-9_]*$"))
((assignment left: (identifier) @name @item.constant right: (assignment)) (#match? @name "^[A-Z_][A-Z0-9_]*$"))
((assignment left: [(pattern_list [(identifier) @name @item.constant (list_splat_pattern (identifier) @name @item.constant) (tuple_pattern [(identifier) @name @item.constant (list_splat_pattern (identifier) @name @item.constant)])]) (tuple_pattern [(identifier) @name @item.constant (list_splat_pattern (identifier) @name @item.constant) (tuple_pattern (identifier) @name @item.constant)]) (list_pattern (identifier) @name @item.constant)]) (#match? @name "^[A-Z_][A-Z0-9_]*$"))
((assignment left: (identifier) @name) @item.variable)
((assignment left: (identifier) @name @item.variable right: (assignment)))
((assignment left: [(pattern_list [(identifier) @name @item.variable (list_splat_pattern (identifier) @name @item.variable) (tuple_pattern [(identifier) @name @item.variable (list_splat_pattern (identifier) @name @item.variable)])]) (tuple_pattern [(identifier) @name @item.variable (list_splat_pattern (identifier) @name @item.variable) (tuple_pattern (identifier) @name @item.variable)]) (list_pattern (identifier) @name @item.variable)]))

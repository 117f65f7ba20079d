(module (import_statement name: (dotted_name) @name) @import.module)
(module (import_from_statement module_name: (_) @name) @import.module)
(module (function_definition name: (_) @name) @item.function)
(module (decorated_definition definition: (function_definition name: (_) @name)) @item.function)
(module (class_definition name: (_) @name) @item.class)
(module (decorated_definition definition: (class_definition name: (_) @name)) @item.class)
(module (expression_statement (assignment left: (identifier) @name (#match? @name "^[A-Z][A-Z0-9_]*$")) @item.constant))
(module (expression_statement (assignment left: (identifier) @name) @item.variable))
(class_definition body: (block (function_definition name: (_) @name) @member.method))
(class_definition body: (block (decorated_definition definition: (function_definition name: (_) @name)) @member.method))
(class_definition body: (block (class_definition name: (_) @name) @member.class))
(class_definition body: (block (expression_statement (assignment left: (identifier) @name) @member.field)))
(module (if_statement (block [(function_definition name: (_) @name) @item.function
  (class_definition name: (_) @name) @item.class
  (expression_statement (assignment left: (identifier) @name) @item.variable)])))
(module (if_statement (else_clause (block [(function_definition name: (_) @name) @item.function
  (class_definition name: (_) @name) @item.class
  (expression_statement (assignment left: (identifier) @name) @item.variable)]))))
(module (try_statement (block [(function_definition name: (_) @name) @item.function
  (class_definition name: (_) @name) @item.class
  (expression_statement (assignment left: (identifier) @name) @item.variable)])))
(module (try_statement (except_clause (block [(function_definition name: (_) @name) @item.function
  (class_definition name: (_) @name) @item.class
  (expression_statement (assignment left: (identifier) @name) @item.variable)]))))
(module (try_statement (else_clause (block [(function_definition name: (_) @name) @item.function
  (class_definition name: (_) @name) @item.class
  (expression_statement (assignment left: (identifier) @name) @item.variable)]))))
(module (with_statement (block [(function_definition name: (_) @name) @item.function
  (class_definition name: (_) @name) @item.class
  (expression_statement (assignment left: (identifier) @name) @item.variable)])))

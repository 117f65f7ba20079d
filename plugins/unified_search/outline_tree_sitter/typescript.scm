(program (import_statement source: (_) @name) @import.module)
(program (export_statement source: (_) @name) @item.module @exported)
(export_statement declaration: [(class_declaration name: (_) @name) (abstract_class_declaration name: (_) @name)]) @item.class @exported
[(class_declaration name: (_) @name) (abstract_class_declaration name: (_) @name)] @item.class
(export_statement declaration: (function_declaration name: (_) @name)) @item.function @exported
(function_declaration name: (_) @name) @item.function
(export_statement declaration: (interface_declaration name: (_) @name)) @item.interface @exported
(interface_declaration name: (_) @name) @item.interface
(export_statement declaration: (type_alias_declaration name: (_) @name)) @item.struct @exported
(type_alias_declaration name: (_) @name) @item.struct
(export_statement declaration: (enum_declaration name: (_) @name)) @item.enum @exported
(enum_declaration name: (_) @name) @item.enum
(export_statement declaration: (internal_module name: (_) @name)) @item.module @exported
(export_statement declaration: (ambient_declaration [(module name: (string (string_fragment) @name)) (internal_module name: (_) @name)])) @item.module @exported
(ambient_declaration [(module name: (string (string_fragment) @name)) (internal_module name: (_) @name)]) @item.module @exported
(export_statement declaration: (ambient_declaration [(class_declaration name: (_) @name) (abstract_class_declaration name: (_) @name)])) @item.class @exported
(ambient_declaration [(class_declaration name: (_) @name) (abstract_class_declaration name: (_) @name)]) @item.class @exported
(program (export_statement declaration: [(function_signature name: (_) @name) (ambient_declaration (function_signature name: (_) @name))]) @item.function @exported)
(program (ambient_declaration (function_signature name: (_) @name)) @item.function @exported)
(program (ambient_declaration [(lexical_declaration kind: "const" (variable_declarator name: (identifier) @name) @item.constant @exported) (lexical_declaration kind: "let" (variable_declarator name: (identifier) @name) @item.variable @exported) (variable_declaration (variable_declarator name: (identifier) @name) @item.variable @exported)]))
(program (export_statement declaration: (ambient_declaration [(lexical_declaration kind: "const" (variable_declarator name: (identifier) @name) @item.constant @exported) (lexical_declaration kind: "let" (variable_declarator name: (identifier) @name) @item.variable @exported) (variable_declaration (variable_declarator name: (identifier) @name) @item.variable @exported)])))
(internal_module name: (_) @name) @item.module
(program (export_statement declaration: (lexical_declaration kind: "const" (variable_declarator name: (identifier) @name) @item.constant @exported)))
(program (export_statement declaration: (lexical_declaration kind: "let" (variable_declarator name: (identifier) @name) @item.variable @exported)))
(program (export_statement declaration: (variable_declaration (variable_declarator name: (identifier) @name) @item.variable @exported)))
(program (export_statement declaration: (_ (variable_declarator name: [
  (object_pattern (shorthand_property_identifier_pattern) @name @item.constant @exported)
  (object_pattern (pair_pattern value: (identifier) @name @item.constant @exported))
  (object_pattern (object_assignment_pattern left: (shorthand_property_identifier_pattern) @name @item.constant @exported))
  (object_pattern (rest_pattern (identifier) @name @item.constant @exported))
  (array_pattern (identifier) @name @item.constant @exported)
  (array_pattern (assignment_pattern left: (identifier) @name @item.constant @exported))
]))))
(program (lexical_declaration (variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression)]) @item.function))
(program (lexical_declaration kind: "const" (variable_declarator name: (identifier) @name) @item.constant))
(program (lexical_declaration kind: "let" (variable_declarator name: (identifier) @name) @item.variable))
(class_body (method_definition name: (_) @name (#eq? @name "constructor")) @member.constructor)
(class_body (method_definition (accessibility_modifier) @private name: (_) @name (#not-eq? @private "public")) @member.method)
(class_body [(method_definition name: (_) @name) (abstract_method_signature name: (_) @name)] @member.method)
(class_body (public_field_definition (accessibility_modifier) @private name: (_) @name (#not-eq? @private "public")) @member.field)
(class_body (public_field_definition name: (private_property_identifier) @name) @member.field @private)
(class_body (public_field_definition name: (_) @name) @member.field)
(interface_declaration body: (_ (property_signature name: (_) @name) @member.field))
(interface_declaration body: (_ (method_signature name: (_) @name) @member.method))
(enum_body name: (property_identifier) @name @member.enumMember)
(enum_body (enum_assignment name: (_) @name) @member.enumMember)

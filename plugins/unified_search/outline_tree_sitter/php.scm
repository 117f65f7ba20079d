(namespace_use_declaration (namespace_use_clause (_) @name)) @import.module
(program (function_definition name: (_) @name) @item.function)
(program (class_declaration name: (_) @name) @item.class)
(program (interface_declaration name: (_) @name) @item.interface)
(program (trait_declaration name: (_) @name) @item.interface)
(program (enum_declaration name: (_) @name) @item.enum)
(namespace_definition body: (compound_statement (function_definition name: (_) @name) @item.function))
(namespace_definition body: (compound_statement (class_declaration name: (_) @name) @item.class))
(namespace_definition body: (compound_statement (interface_declaration name: (_) @name) @item.interface))
(declaration_list (method_declaration name: (_) @name) @member.method)
(declaration_list (property_declaration (property_element (variable_name) @name)) @member.property)
(enum_case name: (_) @name) @member.enumMember

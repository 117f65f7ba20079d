(namespace_use_declaration (namespace_use_clause (_) @name)) @import.module
(declaration_list (method_declaration name: (_) @name) @member.method)
(enum_declaration_list (method_declaration name: (_) @name) @member.method)
(declaration_list (property_declaration (property_element (variable_name) @name)) @member.property)
(enum_case name: (_) @name) @member.enumMember
(function_definition name: (_) @name) @item.function
(class_declaration name: (_) @name) @item.class
(interface_declaration name: (_) @name) @item.interface
(trait_declaration name: (_) @name) @item.interface
(enum_declaration name: (_) @name) @item.enum

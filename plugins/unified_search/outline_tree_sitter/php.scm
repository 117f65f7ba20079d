(namespace_use_clause [(qualified_name) (name)] @name) @import.module
(method_declaration name: (_) @name) @member.method
(property_declaration (visibility_modifier) @private (property_element name: (variable_name) @name) @member.property (#not-eq? @private "public"))
(property_declaration (property_element name: (variable_name) @name) @member.property)
(enum_case name: (_) @name) @member.enumMember
(const_declaration (const_element (name) @name) @item.constant)
(function_definition name: (_) @name) @item.function
(class_declaration name: (_) @name) @item.class
(interface_declaration name: (_) @name) @item.interface
(trait_declaration name: (_) @name) @item.interface
(enum_declaration name: (_) @name) @item.enum
(anonymous_class) @skip.local

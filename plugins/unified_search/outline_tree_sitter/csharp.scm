(using_directive (_) @name) @import.module
(class_declaration (modifier) @exported name: (_) @name (#eq? @exported "public")) @item.class
(class_declaration name: (_) @name) @item.class
(interface_declaration (modifier) @exported name: (_) @name (#eq? @exported "public")) @item.interface
(interface_declaration name: (_) @name) @item.interface
(struct_declaration (modifier) @exported name: (_) @name (#eq? @exported "public")) @item.struct
(struct_declaration name: (_) @name) @item.struct
(enum_declaration (modifier) @exported name: (_) @name (#eq? @exported "public")) @item.enum
(enum_declaration name: (_) @name) @item.enum
(record_declaration (modifier) @exported name: (_) @name (#eq? @exported "public")) @item.struct
(record_declaration name: (_) @name) @item.struct
(delegate_declaration name: (_) @name) @item.function
(method_declaration name: (_) @name) @member.method
(constructor_declaration name: (_) @name) @member.constructor
(property_declaration name: (_) @name) @member.property
(field_declaration (variable_declaration (variable_declarator (identifier) @name))) @member.field
(enum_member_declaration name: (_) @name) @member.enumMember

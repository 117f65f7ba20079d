(using_directive (_) @name) @import.module
(block) @skip.local
((class_declaration (modifier) @exported name: (_) @name) @item.class (#eq? @exported "public"))
(class_declaration name: (_) @name) @item.class
((interface_declaration (modifier) @exported name: (_) @name) @item.interface (#eq? @exported "public"))
(interface_declaration name: (_) @name) @item.interface
((struct_declaration (modifier) @exported name: (_) @name) @item.struct (#eq? @exported "public"))
(struct_declaration name: (_) @name) @item.struct
((enum_declaration (modifier) @exported name: (_) @name) @item.enum (#eq? @exported "public"))
(enum_declaration name: (_) @name) @item.enum
((record_declaration (modifier) @exported name: (_) @name) @item.struct (#eq? @exported "public"))
(record_declaration name: (_) @name) @item.struct
(delegate_declaration name: (_) @name) @item.function
(method_declaration name: (_) @name) @member.method
(constructor_declaration name: (_) @name) @member.constructor
(property_declaration name: (_) @name) @member.property
(indexer_declaration "this" @name) @member.property
(event_declaration name: (_) @name) @member.event
(field_declaration (variable_declaration (variable_declarator name: (identifier) @name) @member.field))
(event_field_declaration (variable_declaration (variable_declarator name: (identifier) @name) @member.event))
(record_declaration (parameter_list (parameter name: (_) @name) @member.property))
(enum_member_declaration name: (_) @name) @member.enumMember

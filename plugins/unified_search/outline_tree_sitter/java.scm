(program (import_declaration [(scoped_identifier) (identifier)] @name) @import.module)
(class_declaration (modifiers "public") @exported name: (_) @name) @item.class
(class_declaration name: (_) @name) @item.class
(interface_declaration (modifiers "public") @exported name: (_) @name) @item.interface
(interface_declaration name: (_) @name) @item.interface
(enum_declaration (modifiers "public") @exported name: (_) @name) @item.enum
(enum_declaration name: (_) @name) @item.enum
(record_declaration (modifiers "public") @exported name: (_) @name) @item.struct
(record_declaration name: (_) @name) @item.struct
(annotation_type_declaration (modifiers "public") @exported name: (_) @name) @item.interface
(annotation_type_declaration name: (_) @name) @item.interface
(object_creation_expression (class_body) @skip.local)
(enum_constant (class_body) @skip.local)
(block) @skip.local
(method_declaration name: (_) @name) @member.method
(annotation_type_element_declaration name: (_) @name) @member.method
(constructor_declaration name: (_) @name) @member.constructor
(compact_constructor_declaration name: (_) @name) @member.constructor
(field_declaration declarator: (variable_declarator name: (_) @name) @member.field)
(constant_declaration declarator: (variable_declarator name: (_) @name) @member.field)
(record_declaration parameters: (formal_parameters (formal_parameter name: (_) @name) @member.field))
(enum_constant name: (_) @name) @member.enumMember

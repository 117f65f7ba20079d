(program (import_declaration (_) @name) @import.module)
(program (class_declaration (modifiers "public") @exported name: (_) @name) @item.class)
(program (class_declaration name: (_) @name) @item.class)
(program (interface_declaration (modifiers "public") @exported name: (_) @name) @item.interface)
(program (interface_declaration name: (_) @name) @item.interface)
(program (enum_declaration (modifiers "public") @exported name: (_) @name) @item.enum)
(program (enum_declaration name: (_) @name) @item.enum)
(program (record_declaration (modifiers "public") @exported name: (_) @name) @item.struct)
(program (record_declaration name: (_) @name) @item.struct)
(program (annotation_type_declaration (modifiers "public") @exported name: (_) @name) @item.interface)
(program (annotation_type_declaration name: (_) @name) @item.interface)
(method_declaration name: (_) @name) @member.method
(annotation_type_element_declaration name: (_) @name) @member.method
(constructor_declaration name: (_) @name) @member.constructor
(class_body (field_declaration declarator: (variable_declarator name: (_) @name)) @member.field)
(enum_constant name: (_) @name) @member.enumMember

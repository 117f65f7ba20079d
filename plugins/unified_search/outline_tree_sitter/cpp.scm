(preproc_include path: (_) @name) @import.module
(field_declaration_list (function_definition declarator: (function_declarator declarator: (_) @name)) @member.method)
(field_declaration_list (field_declaration declarator: (function_declarator declarator: (_) @name)) @member.method)
(field_declaration_list (field_declaration declarator: (field_identifier) @name) @member.field)
(enumerator name: (_) @name) @member.enumMember
(class_specifier name: (_) @name body: (_)) @item.class
(struct_specifier name: (_) @name body: (_)) @item.struct
(enum_specifier name: (_) @name body: (_)) @item.enum
(concept_definition name: (_) @name) @item.interface
(function_definition declarator: (function_declarator declarator: (_) @name)) @item.function
(function_definition declarator: [(pointer_declarator declarator: (function_declarator declarator: (_) @name)) (reference_declarator (function_declarator declarator: (_) @name))]) @item.function

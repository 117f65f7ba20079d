(preproc_include path: (_) @name) @import.module
(struct_specifier name: (_) @name body: (_)) @item.struct
(union_specifier name: (_) @name body: (_)) @item.struct
(enum_specifier name: (_) @name body: (_)) @item.enum
(function_definition declarator: (function_declarator declarator: (identifier) @name)) @item.function
(function_definition declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @name))) @item.function
(declaration declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @name))) @item.function
(declaration declarator: (pointer_declarator declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @name)))) @item.function
(declaration declarator: (identifier) @name) @item.variable
(declaration declarator: [(init_declarator declarator: (identifier) @name) (array_declarator declarator: (identifier) @name) (pointer_declarator declarator: (identifier) @name)]) @item.variable
(declaration declarator: [(init_declarator declarator: (_ declarator: (identifier) @name)) (array_declarator declarator: (_ declarator: (identifier) @name)) (pointer_declarator declarator: (_ declarator: (identifier) @name))]) @item.variable
(declaration declarator: (init_declarator declarator: (_ declarator: (_ declarator: (identifier) @name)))) @item.variable
(field_declaration_list (field_declaration declarator: (_) @name) @member.field)
(enumerator name: (_) @name) @member.enumMember

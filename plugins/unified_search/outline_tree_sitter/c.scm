(preproc_include path: (_) @name) @import.module
(translation_unit (struct_specifier name: (_) @name body: (_)) @item.struct)
(translation_unit (union_specifier name: (_) @name body: (_)) @item.struct)
(translation_unit (enum_specifier name: (_) @name body: (_)) @item.enum)
(translation_unit (function_definition declarator: (function_declarator declarator: (identifier) @name)) @item.function)
(translation_unit (function_definition declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @name))) @item.function)
(translation_unit (declaration declarator: (init_declarator declarator: (identifier) @name)) @item.variable)
(translation_unit (declaration declarator: (array_declarator declarator: (identifier) @name)) @item.variable)
(translation_unit (declaration declarator: (identifier) @name) @item.variable)
(field_declaration_list (field_declaration declarator: (_) @name) @member.field)
(enumerator name: (_) @name) @member.enumMember

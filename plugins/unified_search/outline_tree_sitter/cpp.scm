(preproc_include path: (_) @name) @import.module
(class_specifier name: (_) @name body: (_)) @item.class
(struct_specifier name: (_) @name body: (_)) @item.struct
(enum_specifier name: (_) @name body: (_)) @item.enum
(translation_unit (function_definition declarator: (function_declarator declarator: (_) @name)) @item.function)
(translation_unit (function_definition declarator: (_ (function_declarator declarator: (_) @name))) @item.function)
(translation_unit (template_declaration (function_definition declarator: (function_declarator declarator: (_) @name)) @item.function))
(namespace_definition body: (declaration_list (function_definition declarator: (function_declarator declarator: (_) @name)) @item.function))
(field_declaration_list (function_definition declarator: (function_declarator declarator: (_) @name)) @member.method)
(field_declaration_list (field_declaration declarator: (function_declarator declarator: (_) @name)) @member.method)
(field_declaration_list (field_declaration declarator: (field_identifier) @name) @member.field)
(enumerator name: (_) @name) @member.enumMember

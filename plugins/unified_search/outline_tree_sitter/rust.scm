(source_file (use_declaration (visibility_modifier) @exported argument: (_) @name) @import.module)
(source_file (use_declaration argument: (_) @name) @import.module)
(mod_item (visibility_modifier) @exported name: (_) @name) @item.module
(mod_item name: (_) @name) @item.module
(struct_item (visibility_modifier) @exported name: (_) @name) @item.struct
(struct_item name: (_) @name) @item.struct
(union_item (visibility_modifier) @exported name: (_) @name) @item.struct
(union_item name: (_) @name) @item.struct
(enum_item (visibility_modifier) @exported name: (_) @name) @item.enum
(enum_item name: (_) @name) @item.enum
(trait_item (visibility_modifier) @exported name: (_) @name) @item.interface
(trait_item name: (_) @name) @item.interface
(impl_item type: (_) @name) @item.object @unlisted
(trait_item body: (declaration_list [(function_item name: (_) @name) (function_signature_item name: (_) @name)] @member.method))
(trait_item body: (declaration_list [(associated_type name: (_) @name) (type_item name: (_) @name)] @member.struct))
(impl_item body: (declaration_list (function_item name: (_) @name) @member.method))
((function_item (visibility_modifier) @exported name: (_) @name) @item.function (#not-eq? @name "_"))
((function_item name: (_) @name) @item.function (#not-eq? @name "_"))
((function_signature_item (visibility_modifier) @exported name: (_) @name) @item.function (#not-eq? @name "_"))
((function_signature_item name: (_) @name) @item.function (#not-eq? @name "_"))
((const_item (visibility_modifier) @exported name: (_) @name) @item.constant (#not-eq? @name "_"))
((const_item name: (_) @name) @item.constant (#not-eq? @name "_"))
((static_item (visibility_modifier) @exported name: (_) @name) @item.variable (#not-eq? @name "_"))
((static_item name: (_) @name) @item.variable (#not-eq? @name "_"))
((type_item (visibility_modifier) @exported name: (_) @name) @item.struct (#not-eq? @name "_"))
((type_item name: (_) @name) @item.struct (#not-eq? @name "_"))
((attribute_item) @exported . (macro_definition name: (_) @name) @item.function (#match? @exported "macro_export"))
(macro_definition name: (_) @name) @item.function
(field_declaration_list (field_declaration name: (_) @name) @member.field)
(enum_variant_list (enum_variant name: (_) @name) @member.enumMember)

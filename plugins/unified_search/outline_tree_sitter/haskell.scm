(header module: (_) @name) @item.module
(declarations (data_type name: (_) @name) @item.struct)
(declarations (newtype name: (_) @name) @item.struct)
(declarations (type_synomym name: (_) @name) @item.struct)
(declarations (class name: (_) @name) @item.interface)
(declarations (instance) @item.class)
(declarations (signature name: (_) @name) @item.function)
(data_constructor constructor: (_ name: (_) @name)) @member.enumMember
(class_declarations (signature name: (_) @name) @member.method)

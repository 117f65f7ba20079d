(program (call method: (identifier) @_require arguments: (argument_list (string) @name) (#match? @_require "^require")) @import.module)
(body_statement (method name: (_) @name) @member.function)
(body_statement (singleton_method name: (_) @name) @member.function)
(module name: (_) @name) @item.module
(class name: (_) @name) @item.class
(method name: (_) @name) @item.function

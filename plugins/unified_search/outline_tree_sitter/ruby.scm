(program (call method: (identifier) @_require arguments: (argument_list (string) @name) (#match? @_require "^require")) @import.module)
(method name: (_) @name) @item.function
(singleton_method name: (_) @name) @item.function
(module name: (_) @name) @item.module
(class name: (_) @name) @item.class
(assignment left: (constant) @name) @item.constant
(assignment left: (left_assignment_list (constant) @name @item.constant))

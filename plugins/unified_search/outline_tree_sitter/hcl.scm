(config_file (body (block) @item.object))
(config_file (body (attribute (identifier) @name) @item.key))
(block (body (attribute (identifier) @name) @member.key))
(block (body (block (identifier) @name) @member.object))

(script_element (start_tag (tag_name) @name)) @item.object
(style_element (start_tag (tag_name) @name)) @item.object
(document (element (start_tag (tag_name) @name)) @item.object)
((element (start_tag (attribute (attribute_name) @_attribute (quoted_attribute_value (attribute_value) @name)))) @member.object (#eq? @_attribute "id"))
((element (start_tag (attribute (attribute_name) @_attribute (attribute_value) @name))) @member.object (#eq? @_attribute "id"))
(script_element (raw_text) @embedded)

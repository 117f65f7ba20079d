((element (start_tag (attribute (attribute_name) @_attribute (quoted_attribute_value (attribute_value) @name)))) @item.object (#eq? @_attribute "id"))
((element (start_tag (attribute (attribute_name) @_attribute (attribute_value) @name))) @item.object (#eq? @_attribute "id"))
((script_element (start_tag (attribute (attribute_name) @_attribute (quoted_attribute_value (attribute_value) @name)))) @item.object (#eq? @_attribute "id"))
((style_element (start_tag (attribute (attribute_name) @_attribute (quoted_attribute_value (attribute_value) @name)))) @item.object (#eq? @_attribute "id"))

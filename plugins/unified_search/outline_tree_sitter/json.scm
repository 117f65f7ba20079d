(document (object (pair key: (string) @name) @item.key))
(document (object (pair value: (object (pair key: (string) @name) @member.key))))

# Prints the names that the files declare, as Ripper reads them: one JSON line per file.
require 'json'
require 'ripper'

def const_name(node)
  case node[0]
  when :const_ref, :var_ref, :var_field, :top_const_ref then node[1][1]
  when :const_path_ref, :const_path_field then "#{const_name(node[1])}::#{node[2][1]}"
  end
end

def list_names(node, prefix, names)
  return unless node.is_a?(Array)
  case node[0]
  when :module, :class
    name = const_name(node[1])
    names << prefix + name
    list_names(node.last(2), "#{prefix}#{name}.", names)
  when :def then names << prefix + node[1][1]
  when :defs then names << prefix + node[3][1]
  when :assign
    names << prefix + node[1][1][1] if node[1][0] == :var_field && node[1][1] && node[1][1][0] == :@const
  when :massign
    node[1].each { |one| names << prefix + one[1][1] if one.is_a?(Array) && one[0] == :var_field && one[1] && one[1][0] == :@const }
  else node.each { |child| list_names(child, prefix, names) }
  end
end

ARGV.each do |path|
  names = []
  list_names(Ripper.sexp(File.read(path)) || raise(path), '', names)
  puts JSON.generate(path: path, names: names)
end

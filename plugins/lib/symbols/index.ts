export { applyTextEdits, createRenameError, readWorkspaceEdit, type FileEdits } from './edits.js'
export { createPlacesAnswer, readPlaces, sortPlaces, type PageInput } from './places.js'
export { askAboutSymbol, askServer, createPlacesHandler } from './query.js'
export { searchSymbols, type NamedSymbol, type TargetInput } from './target.js'

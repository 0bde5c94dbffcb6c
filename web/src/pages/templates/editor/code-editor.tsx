/** CodeMirror. Load it lazily: it is larger than the rest of the page. */
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { html } from '@codemirror/lang-html'
import { bracketMatching, HighlightStyle, syntaxHighlighting } from '@codemirror/language'
import { type Diagnostic, lintGutter, setDiagnostics } from '@codemirror/lint'
import { searchKeymap } from '@codemirror/search'
import { Compartment, EditorState, Text } from '@codemirror/state'
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers, type ViewUpdate } from '@codemirror/view'
import { tags } from '@lezer/highlight'
import { useEffect, useRef } from 'react'

export type Problem = { line: number; column: number; length: number; message: string; severity: 'warning' | 'info' }
export type Place = { line: number; column: number }

type Props = {
  /** Where the editor begins. Later values are ignored: give it another `key` to start again. */
  initial: string
  language: 'html' | 'text'
  label: string
  readOnly: boolean
  problems: readonly Problem[]
  /** Moves the cursor there whenever it is another object. */
  place: Place | undefined
  onChange: (read: () => string) => void
}

const colors = HighlightStyle.define([
  { tag: [tags.tagName, tags.angleBracket], color: 'var(--c-accent)' },
  { tag: [tags.attributeName, tags.propertyName], color: 'var(--c-info)' },
  { tag: [tags.string, tags.attributeValue], color: 'var(--c-ok)' },
  { tag: [tags.comment, tags.processingInstruction, tags.documentMeta], color: 'var(--c-muted)' },
  { tag: [tags.keyword, tags.number, tags.character], color: 'var(--c-warn)' },
])

const theme = EditorView.theme({
  '&': { height: '100%', backgroundColor: 'var(--c-canvas)', color: 'var(--c-text)', fontSize: '13px' },
  '&.cm-focused': { outline: '2px solid var(--c-accent)', outlineOffset: '-1px' },
  '.cm-scroller': { fontFamily: 'ui-monospace, "SF Mono", Menlo, Consolas, monospace', lineHeight: '20px' },
  '.cm-content': { caretColor: 'var(--c-text)' },
  '.cm-cursor': { borderLeftColor: 'var(--c-text)' },
  '.cm-gutters': { backgroundColor: 'var(--c-surface)', color: 'var(--c-faint)', borderColor: 'var(--c-line)' },
  '.cm-activeLine': { backgroundColor: 'var(--c-hover)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: 'var(--c-accent-soft)',
  },
  '.cm-tooltip, .cm-panels': { backgroundColor: 'var(--c-raised)', color: 'var(--c-text)' },
  '.cm-tooltip': { border: '1px solid var(--c-line-strong)', borderRadius: '6px', maxWidth: '420px' },
  '.cm-textfield': { backgroundColor: 'var(--c-canvas)', color: 'var(--c-text)' },
  '.cm-button': { backgroundImage: 'none', backgroundColor: 'var(--c-raised)', color: 'var(--c-text)' },
})

/** Wrapping a minified mail, which is one long line, makes every key slow. It scrolls to the side instead. */
const longestWrapped = 2_000
const wrapping = new Compartment()

const hasLongLine = (doc: Text): boolean => {
  for (let number = 1; number <= doc.lines; number++) if (doc.line(number).length > longestWrapped) return true
  return false
}

const stopWrapping = ({ state, view, changes }: ViewUpdate): void => {
  if (wrapping.get(state) !== EditorView.lineWrapping) return
  let isLong = false
  changes.iterChangedRanges((_from, _to, start, end) => {
    isLong ||= state.doc.lineAt(start).length > longestWrapped || state.doc.lineAt(end).length > longestWrapped
  })
  if (isLong) view.dispatch({ effects: wrapping.reconfigure([]) })
}

const extensionsOf = ({ language, label, readOnly }: Props, doc: Text, changed: (view: EditorView) => void) => [
  lineNumbers(),
  lintGutter(),
  history(),
  drawSelection(),
  highlightActiveLine(),
  bracketMatching(),
  wrapping.of(hasLongLine(doc) ? [] : EditorView.lineWrapping),
  keymap.of([...defaultKeymap, ...historyKeymap, ...searchKeymap]),
  language === 'html' ? [html({ autoCloseTags: true }), syntaxHighlighting(colors)] : [],
  theme,
  EditorState.readOnly.of(readOnly),
  // It is in the order of the Tab key anyway. Tools that check accessibility look for the attribute.
  EditorView.contentAttributes.of({ 'aria-label': label, tabindex: '0' }),
  EditorView.updateListener.of((update) => {
    if (!update.docChanged) return
    changed(update.view)
    stopWrapping(update)
  }),
]

const offsetOf = (doc: Text, { line, column }: Place): number => {
  const { from, to } = doc.line(Math.min(Math.max(line, 1), doc.lines))
  return Math.min(from + column - 1, to)
}

const diagnosticOf = (doc: Text, { length, message, severity, ...place }: Problem): Diagnostic => {
  const from = offsetOf(doc, place)
  return { from, to: Math.min(from + length, doc.length), message, severity }
}

const CodeEditor = (props: Props) => {
  const { problems, place } = props
  const box = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView>(undefined)
  const onChange = useRef(props.onChange)
  onChange.current = props.onChange
  // biome-ignore lint/correctness/useExhaustiveDependencies: the editor keeps its own state from here on
  useEffect(() => {
    const host = box.current
    if (!host) return
    // Inside a shadow root its styles are constructed style sheets, which the content security policy allows.
    const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' })
    const changed = ({ state }: EditorView) => onChange.current(() => state.doc.toString())
    const doc = Text.of(props.initial.split(/\r\n?|\n/))
    const state = EditorState.create({ doc, extensions: extensionsOf(props, doc, changed) })
    const made = new EditorView({ state, root, parent: root })
    view.current = made
    return () => made.destroy()
  }, [])
  useEffect(() => {
    const state = view.current?.state
    if (!state) return
    const found = problems.map((problem) => diagnosticOf(state.doc, problem)).sort((a, b) => a.from - b.from)
    view.current?.dispatch(setDiagnostics(state, found))
  }, [problems])
  useEffect(() => {
    if (!place || !view.current) return
    const anchor = offsetOf(view.current.state.doc, place)
    view.current.dispatch({ selection: { anchor }, effects: EditorView.scrollIntoView(anchor, { y: 'center' }) })
    view.current.focus()
  }, [place])
  return <div ref={box} className="h-[28rem] overflow-hidden rounded-md border border-line-strong" />
}

export default CodeEditor

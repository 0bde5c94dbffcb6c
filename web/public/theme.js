// Runs before the first paint, so that a stored theme does not flash. The content security policy forbids inline scripts.
const stored = localStorage.getItem('theme')
if (stored === 'light' || stored === 'dark') document.documentElement.dataset.theme = stored

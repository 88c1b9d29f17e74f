// Sends the form of the one-time link by itself; without this, its button does.
document.querySelector("form[data-send]")?.requestSubmit();

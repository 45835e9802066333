"""memlab itself: a bank a customer, learned with the offline reader and curator."""

from __future__ import annotations

from protocol import encoder

from memlab.bank import Bank, bank_path
from memlab.extraction import OfflineExtractor
from memlab.learning import forget, learn
from memlab.recalling import recall
from memlab.records import Conversation


def open_store(folder):
    return Banks(folder)


class Banks:
    def __init__(self, folder, least=None):
        self.least = least
        self.folder, self.encoder, self.banks = folder, encoder(), {}
        self.extractor = OfflineExtractor(self.encoder)

    def bank(self, customer):
        if customer not in self.banks:
            self.banks[customer] = Bank.open(self.folder, customer)
        return self.banks[customer]

    def add(self, customer, conversations):
        mine = [Conversation.from_json(c) for c in conversations]
        learn(self.bank(customer), mine, extractor=self.extractor, encoder=self.encoder)

    def search(self, customer, query, k):
        hits = recall(self.bank(customer), query, k=k, encoder=self.encoder, least=self.least)
        return [
            {"conversations": list(h.conversations), "text": "\n".join([h.root_cause, *(s.text for s in h.solutions)])}
            for h in hits
        ]

    def count(self, customer):
        bank = self.bank(customer)
        return bank.count("conversations") + bank.count("proposals") + bank.count("vectors")

    def forget(self, customer):
        if bank_path(self.folder, customer).exists():
            forget(self.bank(customer))

    def close(self):
        for bank in self.banks.values():
            bank.close()
        self.banks.clear()

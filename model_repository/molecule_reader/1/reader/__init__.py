"""The molecule reader: reads drawings of molecules and answers questions about them. ../model.py serves it in Triton.

From a picture to a molecule: ink and cropping prepare the picture; sparse_cells and networks run the two networks on
it; detection finds atoms and bonds (labels); molecule_builder makes a molecule of them, with placeholders;
drawing_reader does so at several scales (views) and returns a reading; structures and page_reader find the drawings in
a picture with several; reading_cache keeps the latest readings; molfile writes a mol file of one.

From a prompt to an answer: request parses the tensors, conversation the turns, intents and named_molecules the
questions; assistant has answers, comparison and json_answers write the answer from properties and functional_groups;
responder streams it.
"""
